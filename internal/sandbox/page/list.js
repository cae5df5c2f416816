// keep shows rows in a list, each { key, look, make }. A row that looks as before keeps its
// node, and with it the focus and what is selected; stays may have a node kept that looks
// otherwise. It returns the nodes.
export function keep(list, rows, stays = () => false) {
  const known = list.kept || new Map(), kept = new Map();
  let focus = null;
  for (const { key, look, make } of rows) {
    const had = known.get(key);
    if (had && (had.look === look || stays(had.node))) { kept.set(key, had); continue; }
    const node = make();
    if (had?.node.contains(document.activeElement)) focus = stop(had.node, document.activeElement, node);
    kept.set(key, { look, node });
  }
  list.kept = kept;
  const nodes = [...kept.values()].map(k => k.node), wanted = new Set(nodes);
  const before = [...list.children], gone = before.findIndex(old => !wanted.has(old) && old.contains(document.activeElement));
  if (gone >= 0) focus ||= beside(nodes, gone) || list;
  for (const old of before) if (!wanted.has(old)) old.remove();
  nodes.forEach((node, i) => { if (list.children[i] !== node) list.insertBefore(node, list.children[i] || null); });
  for (const to of [focus?.closest("[tabindex]"), focus]) to?.focus({ preventScroll: true }); // a message shows its buttons once it has the focus
  return nodes;
}

const stops = "button:enabled, a[href], textarea, input, summary, [tabindex]";
const name = e => e.getAttribute("aria-label") || e.textContent;

// stop is what takes the focus in a new node that was at a place in the one before: what is
// called so, else what is at the same place.
function stop(had, at, node) {
  if (at === had) return node;
  const all = [...node.querySelectorAll(stops)], same = all[[...had.querySelectorAll(stops)].indexOf(at)];
  return [same, ...all].find(e => e && name(e) === name(at)) || same || node;
}

// beside is what takes the focus where a row is gone: the next one, else the one before.
const beside = (nodes, i) => [...nodes.slice(i), ...nodes.slice(0, i).reverse()]
  .map(n => n.hasAttribute("tabindex") ? n : n.querySelector(stops)).find(Boolean);
