// showRows shows rows in a list, each { key, version, make }. A row with the same key and
// version keeps its node, and with it the focus and the selection. keepsNode(node) keeps the
// node although the version changed. showRows returns the nodes.
export function showRows(list, rows, keepsNode = () => false) {
  const known = list.rows || new Map(), shown = new Map();
  let focus = null;
  for (const { key, version, make } of rows) {
    const had = known.get(key);
    if (had && (had.version === version || keepsNode(had.node))) { shown.set(key, had); continue; }
    const node = make();
    if (had?.node.contains(document.activeElement)) focus = sameElement(had.node, document.activeElement, node);
    shown.set(key, { version, node });
  }
  list.rows = shown;
  const nodes = [...shown.values()].map(row => row.node), wanted = new Set(nodes);
  const before = [...list.children], gone = before.findIndex(old => !wanted.has(old) && old.contains(document.activeElement));
  if (gone >= 0) focus ||= nextFocusable(nodes, gone) || list;
  for (const old of before) if (!wanted.has(old)) old.remove();
  nodes.forEach((node, i) => { if (list.children[i] !== node) list.insertBefore(node, list.children[i] || null); });
  for (const to of [focus?.closest("[tabindex]"), focus]) to?.focus({ preventScroll: true }); // a message shows its buttons only while it has the focus
  return nodes;
}

const focusable = "button:enabled, a[href], textarea, input, summary, [tabindex]";
const name = e => e.getAttribute("aria-label") || e.textContent;

// sameElement returns the element of a new node that corresponds to an element of the old
// one: the one with the same name, else the one at the same position.
function sameElement(old, element, node) {
  if (element === old) return node;
  const all = [...node.querySelectorAll(focusable)], same = all[[...old.querySelectorAll(focusable)].indexOf(element)];
  return [same, ...all].find(e => e && name(e) === name(element)) || same || node;
}

// nextFocusable returns what takes the focus when row i is gone: the next row, else the one before.
const nextFocusable = (nodes, i) => [...nodes.slice(i), ...nodes.slice(0, i).reverse()]
  .map(n => n.hasAttribute("tabindex") ? n : n.querySelector(focusable)).find(Boolean);
