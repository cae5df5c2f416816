// The page's entry point: loads the workspace's state, applies its changes, and handles the
// keys of the whole page.
import { takeFaults } from "./bar.js";
import { afterPress } from "./press.js";
import { focusComposer } from "./composer.js";
import { takeStatus, takeStatuses } from "./doing.js";
import { closeDrawer, openDrawer } from "./drawers.js";
import "./messages.js";
import "./memories.js";
import "./notes.js";
import "./home.js";
import { follow } from "./mind.js";
import { openModal } from "./modal.js";
import "./orders.js";
import { excerpt, author } from "./quote.js";
import "./promises.js";
import "./side.js";
import { $, navigate, currentChannel, isReply, names, people, seen, state, emit, visible } from "./state.js";
import "./status.js";
import "./story.js";
import { stream } from "./stream.js";
import "./tickets.js";
import { leave as leaveTour } from "./tour.js";
import "./workspaces.js";

// ── state ──────────────────────────────────────────────────────────────────

function applyState(s) {
  state.bot = s.bot;
  Object.assign(state, { team: s.team, name: s.name, workspaces: s.workspaces, installed: s.installed, install: s.install });
  state.tools = s.tools;
  state.users = new Map(s.users.map(u => [u.id, u]));
  state.people = s.users.map(u => names.user(u.id)).join();
  const ephemeral = id => [...state.channels.get(id)?.messages || []].filter(([, m]) => m.for); // the workspace does not keep them
  state.channels = new Map((s.channels || []).map(c => [c.id, { ...c, messages: new Map([...ephemeral(c.id), ...c.messages.map(m => [m.ts, m])]) }]));
  state.homes = new Map(Object.entries(s.homes || {}));
  const wanted = new URLSearchParams(location.hash.slice(1));
  state.me ||= people().find(u => u.name === wanted.get("as"))?.id || people()[0]?.id;
  if (!state.channels.has(state.channel)) {
    state.channel = ([...state.channels.values()].find(c => c.name === wanted.get("channel")) || visible()[0])?.id || null;
    state.thread = wanted.get("thread");
  }
  $("hint").textContent = s.hint;
  $("hint").hidden = !s.hint;
  $("temporal").hidden = !s.workflows;
  if (s.workflows) $("temporal").href = s.workflows.replace(/\/namespaces\/.*/, "");
  takeFaults(s.misbehaviour || []);
  takeStatuses(s.statuses || []);
  emit("place");
}

let changesWhileLoading = null; // null while nothing is loading

// load fetches the whole state again. Its answer may or may not include changes that arrive
// meanwhile, so it applies them again.
async function load() {
  const own = changesWhileLoading = [];
  const all = await fetch("sandbox/state").then(answer => answer.ok && answer.json()).catch(() => null);
  afterPress(() => {
    if (own !== changesWhileLoading) return; // another load has begun
    if (!all) { // try again, unless a reconnect loads first
      setTimeout(() => { if (own === changesWhileLoading) load(); }, 1000);
      return;
    }
    changesWhileLoading = null;
    applyState(all);
    if (own.map(apply).length) emit("chat");
  });
}

// ── changes ────────────────────────────────────────────────────────────────

function onChange(change) {
  if (change.kind === "modal") {
    if (change.user === state.me) openModal(change.modal);
    return;
  }
  if (change.kind === "workspace" || change.kind === "faults" || change.kind !== "home" && !state.channels.has(change.channel)) { load(); return; }
  changesWhileLoading?.push(change);
  const fresh = apply(change);
  if (fresh) {
    const channel = state.channels.get(change.channel);
    announce(channel, channel.messages.get(change.message.ts));
  }
  emit("chat");
}

// apply applies a change and returns whether it is a new message.
function apply(change) {
  if (change.kind === "home") { state.homes.set(change.user, change.home); return false; }
  const messages = state.channels.get(change.channel)?.messages;
  if (!messages) return false;
  if (change.kind === "status") { takeStatus(change); return false; }
  if (change.kind === "deleted") { messages.delete(change.ts); return false; }
  const fresh = !messages.has(change.message.ts);
  messages.set(change.message.ts, change.kind === "ephemeral" ? { ...change.message, for: change.user } : change.message);
  return fresh;
}

// announce has screen readers read out others' messages in the open channel.
function announce(channel, m) {
  if (channel !== currentChannel() || m.user === state.me || !seen(m)) return;
  $("announce").textContent = `${author(m.ts)}${isReply(m) ? ", in a thread" : ""}: ${excerpt(m.ts, 300)}`;
}

function onConnection(on) {
  $("status").textContent = on ? "connected" : "connection lost, trying again …";
  document.body.classList.toggle("lost", !on);
  if (on) load();
}

// ── keys ───────────────────────────────────────────────────────────────────

function closeThread() {
  navigate({ thread: null });
  $("text-main").focus();
}

$("close").addEventListener("click", closeThread);
document.querySelector(".skip").addEventListener("click", e => { // leads to the visible field
  e.preventDefault();
  focusComposer();
});
// While an input method composes, for example Japanese, it owns all keys: Enter accepts a word
// and must not send. Safari sends the last key after the composition, with keyCode 229
// (bugs.webkit.org/show_bug.cgi?id=165004).
document.addEventListener("keydown", e => { if (e.isComposing || e.keyCode === 229) e.stopPropagation(); }, true);
document.addEventListener("keydown", e => {
  if (e.defaultPrevented || document.querySelector("dialog[open]")) return;
  const digit = /^Digit([1-9])$/.exec(e.code);
  if (digit && e.altKey && !e.ctrlKey && !e.metaKey) {
    const person = people()[digit[1] - 1];
    if (person) { e.preventDefault(); navigate({ me: person.id }); }
  } else if (e.key === "Escape") {
    if (leaveTour(!!openDrawer())) return;
    if (openDrawer()) closeDrawer();
    else if (state.thread) closeThread();
  }
});

applyState(JSON.parse($("state").textContent));
stream("sandbox/changes", onChange, onConnection);
follow();
focusComposer();
