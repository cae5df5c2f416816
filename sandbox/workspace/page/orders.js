// Orders to the open conversation: answer now, drop, snooze, mute.
import { mind, phaseOf, silence, stopped } from "./mind.js";
import { $, on, send, state } from "./state.js";

// draw enables the orders that make sense now and says why the others are disabled.
function draw() {
  const m = mind.latest;
  const phase = phaseOf(m), silent = silence(m);
  const able = m && mind.connected && !stopped(m);
  const waits = able && ["waiting", "judging", "delaying"].includes(phase);
  const drops = waits || able && phase === "replying" && !m.state?.work?.posting;
  let why = "";
  if (!m || !mind.connected) why = "Orders need a connection.";
  else if (stopped(m)) why = "Orders go to the workflow, which needs a worker to carry them out.";
  else if (!waits && !drops) why = phase === "replying" ? "The reply is on its way: too late to drop it." : "Nothing waits, so there is nothing to answer or to drop.";
  const help = phase === "replying" ? "Drop withdraws the reply." : "Answer now skips the wait. Drop gives up what waits.";
  enable($("answer-now"), waits, why);
  enable($("drop"), drops, why);
  enable($("snooze"), able, why);
  enable($("mute"), able, why);
  $("mute").textContent = silent ? "Unmute" : "Mute";
  $("mute").setAttribute("aria-pressed", String(!!silent));
  if (!able) showSnooze(false);
  $("orders-why").textContent = why || help;
}

// enable enables or disables a button. If a disabled button had the focus, the phase gets it.
function enable(button, may, why) {
  const had = document.activeElement === button;
  button.disabled = !may;
  button.title = may ? "" : why;
  if (had && !may) $("mind-phase").focus({ preventScroll: true });
}

const order = (kind, seconds = 0) => send("mind/order", { channel: state.channel, thread: state.thread || "", user: state.me, order: kind, seconds });

function showSnooze(open) {
  $("snooze-for").hidden = !open;
  $("snooze").setAttribute("aria-expanded", String(open));
}

$("answer-now").addEventListener("click", () => order("answer-now"));
$("drop").addEventListener("click", () => order("drop"));
$("mute").addEventListener("click", () => order($("mute").getAttribute("aria-pressed") === "true" ? "unmute" : "mute"));
$("snooze").addEventListener("click", () => {
  showSnooze($("snooze-for").hidden);
  $("snooze-for").querySelector("button").focus();
});
$("snooze-for").addEventListener("click", e => {
  const seconds = Number(e.target.dataset?.seconds);
  if (!seconds) return;
  showSnooze(false);
  $("snooze").focus();
  order("snooze", seconds);
});
$("snooze-for").addEventListener("keydown", e => {
  if (e.key !== "Escape") return;
  e.preventDefault();
  showSnooze(false);
  $("snooze").focus();
});

on("mind", draw);
on("place", draw);
