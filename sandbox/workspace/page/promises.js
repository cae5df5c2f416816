// What the bot has promised to come back to in the open conversation, and what became of it.
import { clock, now, span } from "./clock.js";
import { showRows } from "./list.js";
import { openThread } from "./messages.js";
import { mind, stopped } from "./mind.js";
import { person } from "./quote.js";
import { el } from "./render.js";
import { $, act, count, names, on, state } from "./state.js";
import { rules } from "./story.js";

const date = at => new Date(at).toDateString() === new Date(now()).toDateString() ? clock(at)
  : new Date(at).toLocaleString("en-GB", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

// isOf reports whether a decision is about a promise that is due.
export const isOf = (key, p) => key.endsWith(`/promise/${p.id}/${p.number}`);

// outcome says what became of a promise; "" while it is open.
function outcome(p) {
  switch (p.state) {
    case "kept": return "kept";
    case "released": return "let go, because it was settled" + (p.reason ? `: “${p.reason}”` : "");
    case "withdrawn": return "withdrawn with the message that asked";
    case "cancelled": return p.ended_by in rules ? "cancelled: " + rules[p.ended_by] : "cancelled by " + person(p.ended_by);
    case "failed": return "not kept: Slack did not take the message";
  }
  return "";
}

function left(p) {
  const held = Date.parse(p.held_until) > Date.parse(p.due), at = Date.parse(held ? p.held_until : p.due);
  if (at > now()) return (held ? "held up for " : "in ") + span(at - now());
  return stopped(mind.latest) ? "due, waits for a worker" : "due now";
}

function promise(p) {
  const about = [p.unless ? "looks again, unless " + p.unless : "reminds " + names.user(p.asked_by), p.every && "every " + p.every, p.number > 1 && count(p.number - 1, "time", "times") + " so far"].filter(Boolean);
  const ended = outcome(p), open = !ended;
  return el("li", { dataset: { promise: p.id, state: p.state } }, el("p", {}, p.what), el("p", { class: "facts" }, el("span", {}, about.join(" · "))),
    el("p", { class: "facts" }, open ? el("strong", { role: "timer" }, left(p)) : el("span", {}, ended),
      p.thread && p.thread !== state.thread && el("button", { type: "button", class: "quoted", onclick: () => openThread(p.thread) }, "its thread"),
      el("time", { datetime: p.due }, date(p.due)),
      open && el("button", { type: "button", class: "small", "aria-label": `Cancel “${p.what}”`, onclick: e => cancel(e.currentTarget, p) }, "Cancel")));
}

// cancel presses the button of the message that confirms the promise.
async function cancel(button, p) {
  if (button.hasAttribute("aria-disabled")) return;
  button.setAttribute("aria-disabled", "true");
  await act("click", { ts: p.shown_ts, name: "myao_cancel", value: p.id });
  button.removeAttribute("aria-disabled");
}

function draw() {
  const decisions = (mind.latest?.story?.entries || []).map(e => e.decision).filter(Boolean);
  const all = (mind.latest?.promises || []).map(p => ({ ...p, reason: p.state === "released" && decisions.find(d => isOf(d.key, p))?.reason }));
  $("mind-promises").closest("section").hidden = !all.length;
  showRows($("mind-promises"), all.map(p => ({ key: p.id, version: JSON.stringify([p, state.people, state.thread]), make: () => promise(p) })));
  tick();
}

// tick counts down. It runs only while a promise is open.
function tick() {
  clearTimeout(tick.timer);
  const open = (mind.latest?.promises || []).filter(p => p.state === "open");
  for (const p of open) $("mind-promises").querySelector(`[data-promise="${CSS.escape(p.id)}"] [role=timer]`).textContent = left(p);
  if (open.length) tick.timer = setTimeout(tick, 500);
}

on("mind", draw);
on("place", draw);
