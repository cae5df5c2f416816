// The status of the conversation: its phase, what it waits for and why, and the countdown.
import { clock, now, span, tsTime } from "./clock.js";
import { mark } from "./icons.js";
import { dueOf, mind, phaseOf, silence, stopped } from "./mind.js";
import { isOf } from "./promises.js";
import { slackError, excerpt, authorAndExcerpt } from "./quote.js";
import { el } from "./render.js";
import { $, count, currentChannel, isReply, names, on, state, title } from "./state.js";

const phases = { idle: "Idle", waiting: "Waiting", judging: "Judging", delaying: "Delaying", replying: "Replying" };
const verbs = { waiting: "judges", delaying: "replies" };
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

const quiet = s => Math.round((Date.parse(s.due_at) - Date.parse(s.since)) / 1000) || s.policy.min_wait;

// working says what a conversation is doing while its tools run.
const working = work => [...new Set(work.steps.map(step => state.tools[step.tool] || "using " + step.tool))].join(", ");

function explain(m) {
  const s = m.state;
  if (!s) return stopped(m) ? "Only a worker knows more, and none is running." : "Asking a worker for the conversation's state …";
  const work = s.work || {}, pending = s.pending || [], answering = work.answering || [];
  const about = (answering.length ? answering : pending).at(-1)?.ts;
  const many = pending.length > 1 ? ` (and ${count(pending.length - 1, "message", "messages")} before it)` : "";
  const bot = names.user(state.bot.user_id);
  const trouble = work.posting && m.story.entries.findLast(e => e.decision?.outcome === "pending")?.decision.parts?.find(p => p.error);
  const due = (m.promises || []).find(p => work.occasion && isOf("/" + work.occasion, p));
  switch (s.phase) {
    case "idle":
      if (silence(m)) return "Nothing waits, and nothing will while it is silent.";
      if (s.promises?.length) return `It comes back to what it has promised: see below. Until then, nothing waits.`;
      return m.open ? "Nothing waits. The next message starts the quiet time; a mention is answered at once." : "Nobody has written anything here that it would have to judge.";
    case "waiting":
      return `After ${authorAndExcerpt(about)}${many} it waits until nobody has written for ${quiet(s)} s, then judges whether to speak.` +
        (pending.length > 1 && s.first_at && s.policy.max_wait ? ` It waits until ${clock(Date.parse(s.first_at) + s.policy.max_wait * 1000)} at the latest.` : "");
    case "judging":
      if (due && m.model !== "down") return `What it promised is due: “${due.what}”. ` + (due.unless ? "It looks whether that is settled." : "It is a reminder: no model is asked.");
      return m.model === "down" ? "It asks its model whether to speak, and the model is down: Temporal tries again until an answer comes." : `It asks its model whether to answer ${authorAndExcerpt(about)}.`;
    case "delaying":
      return `It wants to answer ${authorAndExcerpt(about)}, but holds back in case somebody else does. Any message now withdraws the reply.`;
    case "replying":
      if (trouble) return `Slack fails (${slackError(trouble.error)}) after ${count(trouble.attempts, "try", "tries")}. It tries again, but first checks whether the message is there: it is posted once.`;
      if (work.posting) return "The reply is written and on its way to Slack: it can no longer be withdrawn.";
      if (m.model === "down") return "The model that should write the reply is down: Temporal tries again until an answer comes.";
      if (work.steps?.length) {
        const done = work.steps.filter(step => step.done).length;
        return `It is ${working(work)} (${done} of ${work.steps.length} done), before it answers ${authorAndExcerpt(about)}.`;
      }
      if (work.notice) return "It cannot answer, and says so.";
      if (due) return `It keeps its promise: “${due.what}”.`;
      return answering.length ? `${authorAndExcerpt(about)} is meant for ${bot}: it answers at once, without a judgment.` : `It writes its reply to ${authorAndExcerpt(about)}.`;
  }
  return "";
}

function draw() {
  const m = mind.latest, phase = phaseOf(m);
  const thread = state.thread && currentChannel()?.messages.get(state.thread);
  $("mind-title").textContent = thread ? `Thread “${excerpt(state.thread, 40)}”` : currentChannel() ? title(currentChannel()) : "…";
  const link = $("mind-link");
  link.hidden = !m?.url;
  if (m?.url) link.href = m.url; else link.removeAttribute("href");
  banner(m);

  const panel = $("mind");
  panel.dataset.phase = phase;
  panel.dataset.worker = m?.worker || "";
  panel.classList.toggle("stale", !!m && (stopped(m) || !mind.connected));
  const words = phases[phase] || (m ? "Not known" : "Connecting …");
  if ($("mind-phase").textContent !== words) {
    $("mind-phase").textContent = words;
    if (phase) $("announce-mind").textContent = words + ". " + explain(m);
  }
  $("mind-phase").dataset.phase = phase;
  $("mind-why").textContent = m ? explain(m) + laterText(m) : "";
  for (const step of document.querySelectorAll("#mind-now .steps li")) step.classList.toggle("here", step.dataset.step === phase);
  $("open-mind").dataset.phase = phase;
  $("open-mind-phase").textContent = phases[phase] ? ", " + phases[phase] : "";
  tick();
}

function laterText(m) {
  const n = m.state?.later?.length || 0;
  return n ? ` ${count(n, "message", "messages")} came meanwhile: next.` : "";
}

// messagesSince counts people's messages in the conversation after a time.
function messagesSince(at) {
  const ours = m => (isReply(m) ? m.thread_ts : null) === state.thread;
  return [...currentChannel()?.messages.values() || []].filter(m => !m.bot_id && ours(m) && tsTime(m.ts) > Date.parse(at)).length;
}

// banner shows what is unusual: no connection, no worker, silence.
function banner(m) {
  const says = [];
  if (!mind.connected && m) says.push(["The connection is lost; what you see is from " + clock(Date.parse(m.now)) + ". Trying again …"]);
  else if (!mind.connected) says.push(["No connection to the bot's mind yet. Trying again …"]);
  else if (m && stopped(m)) {
    const missed = messagesSince(m.asked);
    says.push([el("b", {}, m.worker === "starting" ? "The worker is starting." : "The worker is dead. Nothing is lost."),
      ` Timers go on in Temporal, and what is said waits for the next worker` + (missed ? `: ${count(missed, "message", "messages")} so far` : "") + "." +
      (m.asked ? ` Below is where it stood at ${clock(Date.parse(m.asked))}.` : "")]);
    if (m.problem?.includes("does not answer")) says.push([m.problem + "."]);
  } else if (m?.problem) says.push([m.problem + "."]);
  const silent = mind.connected && silence(m);
  if (silent) says.push([el("b", {}, m.muted_everywhere ? "Muted everywhere." : silent.forever ? "Muted." : `Snoozed until ${clock(silent.until)}.`),
    m.muted_everywhere ? " It answers nobody in the workspace, until /myao go or starter unmute --everywhere." : " It answers nothing here, not even a mention."]);
  const key = says.map(parts => parts.map(p => p.textContent || p).join("")).join("\n");
  if ($("mind-problem").dataset.key === key) return;
  $("mind-problem").dataset.key = key;
  $("mind-problem").hidden = !says.length;
  $("mind-problem").replaceChildren(...says.map(parts => el("p", {}, ...parts)));
}

// ── the countdown ──────────────────────────────────────────────────────────

// tick shows the time until something is due. It runs only while something is due.
function tick() {
  clearTimeout(tick.timer);
  const m = mind.latest, at = dueOf(m), left = at - now();
  const label = $("mind-due"), ring = $("mind");
  label.hidden = !at;
  if (at) label.dataset.due = new Date(at).toISOString(); else delete label.dataset.due;
  let text = "";
  if (at) text = left > 0 ? `${verbs[m.state.phase]} in ${span(left)}` : stopped(m) ? "due, waits for a worker" : "due now";
  label.textContent = text;
  const whole = at ? at - Date.parse(m.state.since) : 0;
  ring.style.setProperty("--left", at && whole > 0 ? Math.max(0, Math.min(1, left / whole)).toFixed(3) : 0);
  $("mind-count").textContent = at && left > 0 ? span(left).split(" ")[0] : "";
  presence(m, text);
  const silent = silence(m);
  if (at && left > -1000) tick.timer = setTimeout(tick, left > 10000 || reducedMotion.matches ? 500 : 100);
  else if (silent && !silent.forever) tick.timer = setTimeout(draw, Math.min(30000, silent.until - now() + 50));
}

// presence shows at the composer what the bot is about to do.
function presence(m, text) {
  const phase = m?.state?.phase, bot = names.user(state.bot.user_id);
  let says = "";
  if (m && !mind.connected) says = "The connection is lost · trying again …";
  else if (m) {
    if (silence(m)) says = `${bot} is ${m.muted_everywhere ? "muted everywhere" : silence(m).forever ? "muted here" : "snoozed here"}`;
    else if (text) says = `${bot} ${phase === "waiting" ? "waits for quiet" : "holds its reply back"} · ${text}`;
    else if (phase === "judging") says = `${bot} judges whether to speak`;
    else if (phase === "replying" && m.state.work?.steps?.length && !m.state.work.posting) says = `${bot} is ${working(m.state.work)} …`;
    else if (phase === "replying") says = `${bot} writes a reply`;
    if (stopped(m)) says = text.includes("worker") ? says : says ? says + " · the worker is dead" : `${bot} hears nothing: the worker is dead`;
  }
  for (const p of document.querySelectorAll(".presence")) {
    const on = says && (p.closest(".thread") ? !!state.thread : !state.thread);
    if (!on) { p.replaceChildren(); continue; }
    if (!p.firstChild) p.append(mark(), el("span"));
    p.dataset.phase = mind.connected ? phase || "" : "lost";
    p.lastChild.textContent = says;
  }
}

on("mind", draw);
on("place", draw);
on("chat", draw);
