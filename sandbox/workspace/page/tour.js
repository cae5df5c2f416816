// The tour: its steps, and a last page. The page does each step through the same API as a visitor,
// and a step ends once what it shows has really happened. A model may decide differently; the step
// then says so. The first step plays alone, once in a browser.
import { setWorker } from "./bar.js";
import { focusComposer } from "./composer.js";
import { drawer } from "./drawers.js";
import { guide, highlight, Unexpected, prepare } from "./guide.js";
import { mind } from "./mind.js";
import { el } from "./render.js";
import { $, state, visible } from "./state.js";
import { lastPage, steps } from "./steps.js";

const panel = $("tour-panel"), pages = [...steps, lastPage];
let at = 0, run = null; // run: the AbortController of the step under way

function show() {
  const page = pages[at];
  panel.hidden = false;
  $("tour").setAttribute("aria-expanded", "true");
  panel.dataset.step = at + 1;
  delete panel.dataset.done;
  $("tour-steps").replaceChildren(...steps.map((_, i) => el("li", { class: i < at ? "past" : i === at ? "current" : undefined })));
  $("tour-title").replaceChildren(page.run ? el("span", { class: "number" }, `${at + 1} of ${steps.length}`) : "", " ", page.title);
  $("tour-text").textContent = page.text;
  $("tour-beats").replaceChildren(...(page.beats || []).map(b => el("li", {}, b)));
  $("tour-commands").replaceChildren(...(page.commands || []).map(([command, does]) => el("li", {}, el("code", {}, command), " ", does)));
  highlight([]);
  ready("Show me", !page.run);
  $("tour-do").hidden = !page.run;
  $("tour-end").hidden = !page.run;
}

function ready(label, next = false) {
  $("tour-do").disabled = false;
  $("tour-do").textContent = label;
  $("tour-do").classList.toggle("primary", !next);
  $("tour-next").classList.toggle("primary", next);
  $("tour-next").textContent = pages[at].run ? "Next" : "Finish";
}

async function play() {
  stop();
  show();
  const own = run = new AbortController();
  document.body.classList.add("touring");
  const had = document.activeElement === $("tour-do");
  $("tour-do").disabled = true;
  $("tour-do").textContent = "Watch …";
  $("tour-do").classList.remove("primary");
  if (had) $("tour-title").focus();
  const g = guide(own.signal), step = steps[at];
  let says, done;
  try {
    await prepare(g);
    g.explain(step.text);
    says = await step.run(g);
    done = "true";
  } catch (e) {
    if (own.signal.aborted) return;
    if (!(e instanceof Unexpected)) console.error(e);
    says = (e instanceof Unexpected ? e.message : "Something went wrong: " + e.message) + " Try again, or go on.";
    done = "otherwise";
  } finally {
    if (run === own) run = null;
    if (g.killed) setWorker("start"); // the tour always leaves a worker running
  }
  panel.dataset.done = done;
  $("tour-text").textContent = says;
  ready("Show me again", true);
  if (document.activeElement === $("tour-title")) $("tour-next").focus();
}

function stop() {
  run?.abort(new Unexpected("ended"));
  run = null;
  document.body.classList.remove("touring");
}

function open() {
  remember();
  show();
}

// end closes the tour. It opens again at the same step.
function end() {
  const had = panel.contains(document.activeElement);
  if (run) drawer(null);
  stop();
  highlight([]);
  panel.hidden = true;
  $("tour").setAttribute("aria-expanded", "false");
  if (!pages[at].run) at = 0;
  if (had) focusComposer();
}

// leave ends the tour for the key Escape and returns whether it did. A drawer that somebody has
// opened beside a resting tour is closed first.
export function leave(drawerIsOpen) {
  if (panel.hidden || drawerIsOpen && !run) return false;
  end();
  return true;
}

$("tour").addEventListener("click", () => {
  if (!panel.hidden) { end(); return; }
  open();
  ($("tour-do").hidden ? $("tour-next") : $("tour-do")).focus();
});
$("tour-do").addEventListener("click", play);
$("tour-next").addEventListener("click", () => {
  if (!pages[at].run) { end(); return; }
  stop();
  at++;
  show();
  ($("tour-do").hidden ? $("tour-next") : $("tour-do")).focus();
});
$("tour-end").addEventListener("click", end);
// Who begins to write leaves a step under way: it would open other places and post between.
document.addEventListener("input", e => { if (run && e.target.closest(".composer")) end(); });

// ── the first visit ────────────────────────────────────────────────────────

const key = "tour"; // in localStorage, once the tour has been open in this browser

function remember() {
  try { localStorage.setItem(key, "seen"); } catch { /* without a storage, it never starts itself */ }
}

function isNew() {
  try { return !localStorage.getItem(key); } catch { return false; }
}

const isUnused = () => !state.home && visible().every(c => !c.messages.size) && [...document.querySelectorAll(".composer textarea")].every(area => !area.value);

// The tour starts itself a moment after the first look at a workspace where nobody has written.
// If the visitor prefers reduced motion, it only opens.
const first = setInterval(() => {
  if (document.hidden || !mind.connected || !mind.latest) return;
  clearInterval(first);
  if (!isNew() || !panel.hidden || !state.installed || !isUnused()) return;
  open();
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play();
}, 1000);
