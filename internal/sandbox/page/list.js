// keep shows rows in a list, each { key, look, make }. A row that looks as before keeps its
// node, and with it the focus and what is selected; stays may have a node kept that looks
// otherwise. One that is pressed keeps it until it is released, or the click would be lost.
// It returns the nodes.
export function keep(list, rows, stays = () => false) {
  const known = list.kept || new Map(), kept = new Map();
  let focus = null;
  pressed.delete(list);
  for (const { key, look, make } of rows) {
    const had = known.get(key);
    if (had && (had.look === look || stays(had.node))) { kept.set(key, had); continue; }
    if (had?.node.matches(":active")) {
      pressed.set(list, () => keep(list, rows, stays));
      kept.set(key, had);
      continue;
    }
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

// pressed is how to draw the lists anew of which a row is pressed that looks otherwise by now.
const pressed = new Map();
for (const end of ["pointerup", "pointercancel", "dragend", "keyup"]) {
  document.addEventListener(end, () => setTimeout(() => [...pressed.values()].forEach(draw => draw()))); // after the click
}

const stops = "button, a[href], textarea, input, summary, [tabindex]";
const stop = (node, at) => [...node.querySelectorAll(stops)].indexOf(at);

// refocus gives a new node the focus that the one before had, at the same place.
function refocus(i, node) {
  const to = i < 0 ? node : [...node.querySelectorAll(stops)][i];
  (to || node).focus({ preventScroll: true });
}
