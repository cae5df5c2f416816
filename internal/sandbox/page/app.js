// The page's beginning: it takes what the workspace is, listens to what changes in it, and
// knows the keys that belong to no part alone.
import { takeFaults } from "./bar.js";
import { calmly } from "./calm.js";
import "./composer.js";
import { closeDrawer, openDrawer } from "./drawers.js";
import "./messages.js";
import "./memories.js";
import { follow } from "./mind.js";
import "./orders.js";
import { excerpt, author } from "./quote.js";
import "./side.js";
import { $, go, here, isReply, names, people, seen, state, tell, visible } from "./state.js";
import "./stands.js";
import "./story.js";
import { stream } from "./stream.js";
import "./tour.js";

// ── what there is ──────────────────────────────────────────────────────────

function take(s) {
  state.bot = s.bot;
  state.team = s.team;
  state.users = new Map(s.users.map(u => [u.id, u]));
  state.people = s.users.map(u => names.user(u.id)).join();
  const alone = id => [...state.channels.get(id)?.messages || []].filter(([, m]) => m.for); // Slack keeps no record of them
  state.channels = new Map((s.channels || []).map(c => [c.id, { ...c, messages: new Map([...alone(c.id), ...c.messages.map(m => [m.ts, m])]) }]));
  const wish = new URLSearchParams(location.hash.slice(1));
  state.me ||= people().find(u => u.name === wish.get("as"))?.id || people()[0]?.id;
  if (!state.channels.has(state.channel)) {
    state.channel = ([...state.channels.values()].find(c => c.name === wish.get("channel")) || visible()[0])?.id || null;
    state.thread = wish.get("thread");
  }
  $("hint").textContent = s.hint;
  $("hint").hidden = !s.hint;
  $("temporal").hidden = !s.workflows;
  if (s.workflows) $("temporal").href = s.workflows.replace(/\/namespaces\/.*/, "");
  takeFaults(s.misbehaviour || []);
  tell("place");
}

let since = null; // what has changed since a load began

// load reads everything again. What changes meanwhile may or may not be in the answer: it
// is applied to that once more.
async function load() {
  const own = since = [];
  const all = await fetch("sandbox/state").then(answer => answer.ok && answer.json()).catch(() => null);
  calmly(() => {
    if (own !== since) return; // another one is under way
    if (!all) { // the stream may come back before, and with it this
      setTimeout(() => { if (own === since) load(); }, 1000);
      return;
    }
    since = null;
    take(all);
    if (own.map(apply).length) tell("chat");
  });
}

// ── what changes ───────────────────────────────────────────────────────────

function hear(change) {
  if (change.kind === "members" || change.kind === "faults" || !state.channels.has(change.channel)) { load(); return; }
  since?.push(change);
  const fresh = apply(change);
  if (fresh) {
    const channel = state.channels.get(change.channel);
    announce(channel, channel.messages.get(change.message.ts));
    tell("said", { channel, message: change.message });
  }
  tell("chat");
}

// apply takes in a change, and reports whether it is a message that was not there.
function apply(change) {
  const messages = state.channels.get(change.channel)?.messages;
  if (!messages) return false;
  if (change.kind === "deleted") { messages.delete(change.ts); return false; }
  const fresh = !messages.has(change.message.ts);
  messages.set(change.message.ts, change.kind === "ephemeral" ? { ...change.message, for: change.user } : change.message);
  return fresh;
}

// announce has what others say in the open channel read out.
function announce(channel, m) {
  if (channel !== here() || m.user === state.me || !seen(m)) return;
  $("announce").textContent = `${author(m.ts)}${isReply(m) ? ", in a thread" : ""}: ${excerpt(m.ts, 300)}`;
}

function connection(on) {
  $("status").textContent = on ? "connected" : "connection lost, trying again …";
  document.body.classList.toggle("lost", !on);
  if (on) load();
}

// ── keys ───────────────────────────────────────────────────────────────────

function closeThread() {
  go({ thread: null });
  $("text-main").focus();
}

$("close").addEventListener("click", closeThread);
document.querySelector(".skip").addEventListener("click", e => { // to the field that is in sight
  e.preventDefault();
  [$("text-main"), $("text-thread")].find(area => area.offsetParent)?.focus();
});
// While an input method composes, as for Japanese, all keys are its own: Enter takes a word and
// sends nothing. In Safari the last of them comes when that is over, and is known by its code
// (bugs.webkit.org/show_bug.cgi?id=165004).
document.addEventListener("keydown", e => { if (e.isComposing || e.keyCode === 229) e.stopPropagation(); }, true);
document.addEventListener("keydown", e => {
  if (e.defaultPrevented || document.querySelector("dialog[open]")) return;
  const digit = /^Digit([1-9])$/.exec(e.code);
  if (digit && e.altKey && !e.ctrlKey && !e.metaKey) {
    const person = people()[digit[1] - 1];
    if (person) { e.preventDefault(); go({ me: person.id }); }
  } else if (e.key === "Escape") {
    if (openDrawer()) closeDrawer();
    else if (state.thread) closeThread();
  }
});

take(JSON.parse($("state").textContent));
stream("sandbox/changes", hear, connection);
follow();
