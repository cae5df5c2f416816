// keep shows rows in a list, each { key, look, make }. A row that looks as before keeps its
// node, and with it the focus, what is selected and a click under way; stays may have a
// node kept that looks otherwise. It returns the nodes.
export function keep(list, rows, stays = () => false) {
  const known = list.kept || new Map(), kept = new Map();
  let focus = null;
  for (const { key, look, make } of rows) {
    const had = known.get(key);
    if (had && (had.look === look || stays(had.node))) { kept.set(key, had); continue; }
    const node = make();
    if (had?.node.contains(document.activeElement)) focus = [stop(had.node, document.activeElement), node];
    kept.set(key, { look, node });
  }
  list.kept = kept;
  const nodes = [...kept.values()].map(k => k.node), wanted = new Set(nodes);
  for (const old of [...list.children]) if (!wanted.has(old)) old.remove();
  nodes.forEach((node, i) => { if (list.children[i] !== node) list.insertBefore(node, list.children[i] || null); });
  if (focus) refocus(...focus);
  return nodes;
}

const stops = "button, a[href], textarea, input, summary, [tabindex]";
const stop = (node, at) => [...node.querySelectorAll(stops)].indexOf(at);

// refocus gives a new node the focus that the one before had, at the same place.
function refocus(i, node) {
  const to = i < 0 ? node : [...node.querySelectorAll(stops)][i];
  (to || node).focus({ preventScroll: true });
}
