// The drawers: channels and people, the mind, and the faults. They are beside the messages,
// or slide over them on a narrow screen, one at a time.
import { $, on } from "./state.js";

const buttons = { side: $("open-side"), mind: $("open-mind"), faults: $("open-faults") };

// drawer opens a drawer and closes the others; null closes all. On a wide screen nothing visible changes.
export function drawer(name) {
  for (const [id, button] of Object.entries(buttons)) {
    $(id).classList.toggle("open", id === name);
    button.setAttribute("aria-expanded", String(id === name));
  }
  $("veil").hidden = name !== "side" && name !== "mind";
}

// openDrawer returns the open drawer. On a wide screen, where no button opens one, there is none.
export const openDrawer = () => Object.keys(buttons).find(id => $(id).classList.contains("open") && buttons[id].offsetParent);

// closeDrawer closes the open drawer and returns the focus to the button that opened it.
export function closeDrawer() {
  const was = openDrawer();
  drawer(null);
  if (was) buttons[was].focus();
}

for (const [id, button] of Object.entries(buttons)) {
  button.addEventListener("click", () => {
    if (openDrawer() === id) { closeDrawer(); return; }
    drawer(id);
    $(id).querySelector("button:not(:disabled):not([hidden]), a[href]")?.focus();
  });
}
$("veil").addEventListener("click", closeDrawer);
$("close-mind").addEventListener("click", closeDrawer);
// Moving the focus to what a drawer covers closes the drawer.
document.addEventListener("focusin", e => { if (["side", "mind"].includes(openDrawer()) && e.target.closest("main, .thread")) drawer(null); });
document.addEventListener("click", e => { if (openDrawer() === "faults" && !e.target.closest("#faults, #open-faults")) drawer(null); });
on("place", moved => { if (moved && openDrawer() === "side") drawer(null); });
