// The bot's decisions and their reasons, from the timeline.
import { clock } from "./clock.js";
import { drawer } from "./drawers.js";
import { emojiOrName, icon } from "./icons.js";
import { showRows } from "./list.js";
import { flash, openThread, reveal } from "./messages.js";
import { mind } from "./mind.js";
import { showPrompt } from "./prompt.js";
import { timeOf, author, slackError, excerpt, exists, person } from "./quote.js";
import { el } from "./render.js";
import { $, count, navigate, isReply, on, problem, state } from "./state.js";

export const rules = {
  mode_off: "the channel's mode is off", mode_mention: "it speaks here only when mentioned", silenced: "muted or snoozed", stopped: "told to stop in this thread", spoke_last: "it spoke last itself",
  too_old: "the message is too old", addresses_other: "the message is for somebody else", bot_budget: "only apps have written", nothing_left: "the message is gone",
  quiet_hours: "quiet hours", over_budget: "today's budget is used up", low_confidence: "not sure enough", second_look: "a second look at the draft said no", lapsed: "it may have been answered already",
};

// ── decisions ──────────────────────────────────────────────────────────────

const headline = d => ({
  pending: d.respond ? "Wants to answer" : "Decides",
  posted: d.source === "promise" ? "Kept its promise" : d.source === "addressed" ? "Answered a mention" : d.source === "operator" ? "Answered on order" : "Answered",
  silent: d.source === "promise" ? "Let its promise go" : d.source === "rule" ? "Silent by rule" : "Stayed silent",
  withdrawn: d.respond ? "Withdrew its reply" : "Started again", dropped: "Dropped its reply", overruled: "Overruled", failed: "Could not answer",
  retracted: "Took its answer back",
}[d.outcome] || d.outcome);

// cause explains the outcome, or returns null.
function cause(d) {
  switch (d.outcome) {
    case "withdrawn":
      if (!d.outcome_by) return null;
      if (d.outcome_by === d.trigger_ts) return exists(d.outcome_by) ? `because ${author(d.outcome_by)} changed it` : "because it was deleted";
      return exists(d.outcome_by) ? `because ${author(d.outcome_by)} wrote “${excerpt(d.outcome_by, 50)}” at ${timeOf(d.outcome_by)}` : `because of what was said at ${timeOf(d.outcome_by)}`;
    case "retracted":
    case "dropped": return d.outcome_by ? `by ${person(d.outcome_by)}` + (d.settled_at ? ` at ${clock(d.settled_at)}` : "") : null;
    case "overruled": return d.outcome_by ? `by ${person(d.outcome_by)}, who wanted an answer at once` : null;
    case "failed": return d.outcome_by || null;
    case "silent":
      if (!d.outcome_by) return null;
      return d.outcome_by.includes("/") ? "another reply to the same message was there already" : "after all: " + (rules[d.outcome_by] || d.outcome_by);
  }
  return null;
}

const tokens = c => `${c.model || "a model"}, ${c.tokens_in} → ${c.tokens_out} tokens` + (c.error ? `, failed: ${c.error}` : "");

const ends = {
  open: "waits for somebody to decide", approved: "approved", begun: "approved, and being done", done: "done", failed: "failed", unknown: "begun; nobody knows whether it was done",
  declined: "declined", cancelled: "cancelled", lapsed: "lapsed: nobody decided", withdrawn: "withdrawn",
};

// step describes a call of a tool: state, time, length of the result; of a proposal, what became of it.
function step(s) {
  if (s.proposal) return `proposed, ${ends[s.proposal.state] || s.proposal.state}` + (s.proposal.decided_by ? `, decided by ${person(s.proposal.decided_by)}` : "");
  const tries = s.attempts > 1 ? ", " + count(s.attempts, "try", "tries") : "";
  if (s.state !== "done") return s.state + tries;
  return `${Math.round(s.duration_ns / 1e6)} ms, ${s.characters.toLocaleString("en")} characters${tries}` + (s.failed ? ", an error for the model" : "");
}

// what says what a tool was asked for: the texts of its input.
function what(input) {
  let texts = [];
  try {
    texts = Object.values(JSON.parse(input)).filter(v => typeof v === "string");
  } catch { /* a model may write anything */ }
  const text = texts.join(", ");
  return text && ` “${text.length > 80 ? text.slice(0, 80) + "…" : text}”`;
}

const truths = { speak: "an answer was right", silent: "silence was right", wait: "waiting was right", either: "both were right" };
const evidence = {
  mentioned: ": it had to be mentioned", answer_now: ": an answer was ordered", unanswered: ": nobody answered within a day", answered: ": another person answered, or took it on",
  unwelcome: ": the answer was not wanted", welcome: ": the answer was welcome", waited: ": another person answered first", human: ": a person says so",
};

// facts lists the figures of a decision.
function facts(d) {
  const out = [];
  if (d.rule) out.push("rule: " + (rules[d.rule] || d.rule));
  if (d.confidence !== undefined) out.push("confidence " + d.confidence.toFixed(2));
  if (d.delay_seconds) out.push(`held back ${d.delay_seconds} s`);
  for (const c of d.calls || []) out.push(`${c.purpose}: ${tokens(c)}`);
  const inputs = mind.latest?.inputs?.[d.key] || [];
  (d.steps || []).forEach((s, i) => out.push(`${s.tool}${what(inputs[i])}: ${step(s)}`));
  const reaction = d.parts?.find(p => p.reaction && p.state === "sent")?.reaction;
  if (reaction) out.push("reacted with " + emojiOrName(reaction));
  if (d.labels) out.push("in hindsight " + truths[d.labels[0].truth] + (evidence[d.labels[0].kind] || ""));
  for (const o of d.opinions || []) out.push(`${o.judge}, in shadow: ${o.confidence === undefined ? "no verdict" : (o.should_respond ? "would answer" : "would be silent") + ", " + o.reason}`);
  const failed = d.parts?.findLast(p => p.error && p.state !== "sent");
  if (failed) out.push("Slack said: " + slackError(failed.error));
  const tries = (d.parts || []).reduce((n, p) => n + p.attempts, 0);
  if (tries > (d.parts || []).length) out.push(`${d.outcome === "posted" ? "posted once" : "not posted yet"}, after ${count(tries, "try", "tries")}`);
  return out;
}

function decision(d, when) {
  const because = cause(d), quote = d.reason && !d.rule;
  return el("li", { dataset: { decision: d.key, outcome: d.outcome } },
    el("span", { class: "sign", "aria-hidden": "true" }, icon(d.outcome)),
    el("div", { class: "tale" },
      el("p", { class: "top" }, el("strong", {}, headline(d)), el("time", { datetime: when }, clock(when))),
      because && el("p", { class: "cause" }, because),
      el("p", { class: "about" }, el("button", { type: "button", class: "quoted", title: "Show the message", disabled: !exists(d.trigger_ts), onclick: () => reveal(d.trigger_ts) },
        author(d.trigger_ts) + ": " + excerpt(d.trigger_ts)), d.with?.length > 0 && el("span", {}, ` and ${count(d.with.length, "message", "messages")} before it`)),
      quote && el("p", { class: "reason" }, "“" + d.reason + "”"),
      el("p", { class: "facts" }, facts(d).length > 0 && el("span", {}, facts(d).join(" · ")), d.calls?.length > 0 && el("button", {
        type: "button", class: "prompt", dataset: { decision: d.key }, "aria-label": `Prompt of the decision of ${clock(when)}`, onclick: () => showPrompt(d, when),
      }, "Prompt"))));
}

const orderTexts = {
  "answer-now": "wanted an answer now", drop: "dropped what waited", snooze: "snoozed it", mute: "muted it", unmute: "ended the silence",
  hush: "wanted no answer to a message", retract: "took an answer back", forget: "had something forgotten", rollback: "took a memory back", correct: "corrected a memory",
  "forget-note": "had a note forgotten",
};

const aside = (sign, when, ...says) => el("li", { class: "aside" }, el("span", { class: "sign", "aria-hidden": "true" }, icon(sign)),
  el("div", { class: "tale" }, el("p", { class: "top" }, el("span", {}, ...says), el("time", { datetime: when }, clock(when)))));

const order = (o, when) => aside("order", when, `${person(o.by)} ${orderTexts[o.kind] || o.kind}` + (o.everywhere ? " everywhere" : "") + (o.kind === "snooze" && o.until ? ` until ${clock(o.until)}` : ""));

// A mention at a channel's top level has its decision in its thread.
const inThread = (s, when) => aside("thread", when, `${author(s.ts)} addressed it: `, el("button", { type: "button", class: "quoted", onclick: () => openThread(s.ts) }, "see its thread"));

// entry returns the row of a timeline's entry, or null if it is shown elsewhere.
function entry(e) {
  if (e.decision) return { key: e.decision.key, make: () => decision({ ...e.decision, respond: e.decision.should_respond }, e.at) };
  if (e.order) return { key: "order " + e.at, make: () => order(e.order, e.at) };
  if (e.message?.explanation?.startsWith("it addressed the bot, which answers in its thread")) return { key: "said " + e.message.ts, make: () => inThread(e.message, e.at) };
  if (e.message?.explanation?.startsWith("not heard: the channel's mode")) {
    return { key: "said " + e.message.ts, make: () => aside("silent", e.at, `${author(e.message.ts)} wrote something: ${e.message.explanation.slice("not heard: ".length)}`) };
  }
  return null;
}

function drawStory(entries) {
  const rows = [];
  for (const e of [...entries].reverse()) {
    const line = entry(e), trigger = e.decision?.trigger_ts || e.message?.ts, by = e.decision?.outcome_by;
    if (line) rows.push({ ...line, version: JSON.stringify([e, mind.latest.inputs?.[e.decision?.key], state.people, trigger && excerpt(trigger), by && exists(by) && excerpt(by)]) });
  }
  showRows($("mind-story"), rows.length ? rows : [{ key: "none", version: "", make: () => el("li", { class: "none" }, "Nothing yet. Each decision to speak or to stay silent appears here, with its reason.") }]);
}

// ── the last verdict ───────────────────────────────────────────────────────

function drawVerdict(entries) {
  const last = entries.findLast(e => e.decision);
  const version = JSON.stringify(last?.decision || null);
  if ($("mind-verdict").dataset.version === version) return;
  $("mind-verdict").dataset.version = version;
  $("mind-verdict").replaceChildren(...(last ? verdict(last.decision, last.at) : [el("p", { class: "none" }, "None yet.")]));
}

const sources = { judgment: "judged", rule: "by a rule, no model asked", addressed: "it was addressed: no judgment", operator: "at an order: no judgment", promise: "what it had promised was due" };

function verdict(d, when) {
  const call = d.calls?.findLast(c => c.purpose === "judgment") || d.calls?.at(-1);
  const row = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
  const bar = d.confidence === undefined ? null : el("span", { class: "meter", role: "meter", "aria-label": "Confidence", "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": d.confidence }, el("i"));
  bar?.style.setProperty("--value", d.confidence);
  return [
    el("p", { class: "top" }, el("strong", { class: "pill " + (d.should_respond ? "yes" : "no") }, d.should_respond ? "Yes, speak" : "No, keep silent"),
      el("span", {}, sources[d.source] || d.source), el("time", { datetime: when }, clock(when))),
    el("blockquote", {}, d.rule ? rules[d.rule] || d.reason : d.reason || "No reason is known."),
    el("dl", {},
      ...(bar ? row("confidence", bar, el("span", {}, d.confidence.toFixed(2))) : []),
      ...row("delay", d.should_respond ? d.delay_seconds ? `${d.delay_seconds} s, in case somebody else answers` : "none" : "–"),
      ...(call ? [...row("model", call.model || "unknown", el("span", { class: "soft" }, ` ${Math.round(call.latency_ns / 1e6)} ms`)),
        ...row("tokens", `${call.tokens_in} in, ${call.tokens_out} out`)] : [])),
  ];
}

// ── why ────────────────────────────────────────────────────────────────────

// why shows the decision behind one of the bot's messages, if the mind still shows it.
let wanted = null; // ts of the message

function why(m) {
  wanted = m.ts;
  if ((isReply(m) ? m.thread_ts : null) !== state.thread) navigate({ thread: isReply(m) ? m.thread_ts : null });
  drawer("mind");
  showWhy();
}

function showWhy() {
  if (!wanted || !mind.latest) return;
  const known = mind.latest.story?.entries?.find(e => e.decision?.parts?.some(p => p.ts === wanted))?.decision;
  wanted = null;
  const line = known && $("mind-story").querySelector(`[data-decision="${CSS.escape(known.key)}"]`);
  if (!line) { problem("That is older than what the mind shows. Run `starter why` for more."); return; }
  line.scrollIntoView({ block: "center" });
  flash(line);
  line.querySelector("button")?.focus({ preventScroll: true });
}

function draw() {
  const m = mind.latest, entries = m?.story?.entries || [];
  drawVerdict(entries);
  drawStory(entries);
  showWhy();
}

on("why", why);
on("mind", draw);
on("place", draw);
on("chat", draw);
