// What stands beside the messages, and slides over them where there is no room for both:
// channels and people, the mind, and the faults. One at a time.
import { $, on } from "./state.js";

const buttons = { side: $("open-side"), mind: $("open-mind"), faults: $("open-faults") };

// drawer opens one, and closes the others; null closes all. Where there is room it changes nothing to see.
export function drawer(name) {
  for (const [id, button] of Object.entries(buttons)) {
    $(id).classList.toggle("open", id === name);
    button.setAttribute("aria-expanded", String(id === name));
  }
  $("veil").hidden = name !== "side" && name !== "mind";
}

export const openDrawer = () => Object.keys(buttons).find(id => $(id).classList.contains("open"));

// closeDrawer closes what is open, and gives the focus back to what opened it.
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
// Whoever goes on to what a drawer covers has done with it.
document.addEventListener("focusin", e => { if (["side", "mind"].includes(openDrawer()) && e.target.closest("main, .thread")) drawer(null); });
document.addEventListener("click", e => { if (openDrawer() === "faults" && !e.target.closest("#faults, #open-faults")) drawer(null); });
on("place", moved => { if (moved && openDrawer() === "side") drawer(null); });
