// The tour: six steps. The page does each through the same API as a visitor, and a step ends
// once what it shows has really happened. A model may decide differently; the step then says so.
import { setWorker } from "./bar.js";
import { guide, highlight, Unexpected, prepare } from "./guide.js";
import { el } from "./render.js";
import { $ } from "./state.js";
import { steps } from "./steps.js";

const panel = $("tour-panel");
let at = 0, run = null; // run: the AbortController of the step under way

function show() {
  const step = steps[at];
  panel.hidden = false;
  $("tour").setAttribute("aria-expanded", "true");
  panel.dataset.step = at + 1;
  delete panel.dataset.done;
  $("tour-steps").replaceChildren(...steps.map((_, i) => el("li", { class: i < at ? "past" : i === at ? "current" : undefined })));
  $("tour-title").replaceChildren(el("span", { class: "number" }, `${at + 1} of ${steps.length}`), " ", step.title);
  $("tour-text").textContent = step.text;
  $("tour-beats").replaceChildren(...step.beats.map(b => el("li", {}, b)));
  highlight([]);
  ready("Show me");
}

function ready(label, next = false) {
  $("tour-do").disabled = false;
  $("tour-do").textContent = label;
  $("tour-do").classList.toggle("primary", !next);
  $("tour-next").classList.toggle("primary", next);
  $("tour-next").textContent = at === steps.length - 1 ? "Finish" : "Next";
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

function end() {
  stop();
  highlight([]);
  panel.hidden = true;
  $("tour").setAttribute("aria-expanded", "false");
  at = 0;
  $("tour").focus();
}

$("tour").addEventListener("click", () => {
  if (!panel.hidden) { end(); return; }
  at = 0;
  show();
  $("tour-do").focus();
});
$("tour-do").addEventListener("click", play);
$("tour-next").addEventListener("click", () => {
  if (at === steps.length - 1) { end(); return; }
  stop();
  at++;
  show();
  $("tour-do").focus();
});
$("tour-end").addEventListener("click", end);
