// Delays updates of the page while something is pressed. Otherwise the pressed element could
// move or be redrawn, and the click would be lost.
const pressed = ":is(button, a, summary, input, label, [role=option]):active";
const maxDelay = 10000; // ms; a release may never be seen
const delayed = [];

// afterPress calls update now, or in order once nothing is pressed any more.
export function afterPress(update) {
  if (!delayed.length && !document.querySelector(pressed)) { update(); return; }
  if (!delayed.length) setTimeout(runDelayed, maxDelay);
  delayed.push(update);
}

function runDelayed() {
  while (delayed.length) delayed.shift()();
}

for (const end of ["pointerup", "pointercancel", "dragend", "keyup"]) {
  addEventListener(end, () => setTimeout(runDelayed, 30), true); // after the click event, which touch sends a moment later
}
