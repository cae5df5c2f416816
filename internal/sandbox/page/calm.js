// What the server tells is shown at once, but not while something is pressed: that would move
// away under the mouse, or be drawn anew, and a click is lost which begins here and ends there.
const pressed = ":is(button, a, summary, input, label, [role=option]):active";
const atMost = 10000; // ms; a release may go unheard
const later = [];

// calmly does something now or, in its turn, when what is pressed has been released.
export function calmly(show) {
  if (!later.length && !document.querySelector(pressed)) { show(); return; }
  if (!later.length) setTimeout(goOn, atMost);
  later.push(show);
}

function goOn() {
  while (later.length) later.shift()();
}

for (const end of ["pointerup", "pointercancel", "dragend", "keyup"]) {
  addEventListener(end, () => setTimeout(goOn, 30), true); // after the click, which a finger makes a moment later
}
