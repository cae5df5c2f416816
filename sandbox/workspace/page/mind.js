// The bot's state for the open conversation, by a stream of server-sent events.
import { now, setNow } from "./clock.js";
import { on, state, emit } from "./state.js";
import { stream } from "./stream.js";

export const mind = {
  latest: null, // the newest event
  connected: false,
};

let followed = null, closeStream = null; // closeStream is null without a stream

// follow opens the stream of the open conversation: the thread's, else the channel's.
export function follow() {
  const wanted = state.channel && state.channel + "/" + (state.thread || "");
  if (wanted === followed && closeStream || !wanted || !isWatched()) return;
  unfollow();
  if (wanted !== followed) mind.latest = null;
  followed = wanted;
  const query = new URLSearchParams({ channel: state.channel, ...(state.thread && { thread: state.thread }) });
  closeStream = stream("sandbox/mind?" + query, onEvent, connected => {
    mind.connected = connected;
    emit("mind");
  });
  emit("mind");
}

const isWatched = () => !document.hidden || document.body.classList.contains("touring");

// unfollow closes the stream while the page is hidden: a browser opens only a few connections
// to one host.
function unfollow() {
  closeStream?.();
  closeStream = null;
}

function onEvent(event) {
  setNow(event.now);
  mind.latest = event;
  mind.connected = true;
  emit("mind");
}

// isAbout reports whether the newest event is about this conversation.
export function isAbout(channel, thread) {
  const c = mind.latest?.conversation;
  return !!c && c.channel === channel && (c.thread || null) === (thread || null);
}

// ── the event ──────────────────────────────────────────────────────────────

// phaseOf returns the phase. If no worker answers, it is the one that Temporal knows.
export const phaseOf = m => m?.state?.phase || m?.phase || "";

// dueOf returns when the pending judgment or reply is due, or 0.
export const dueOf = m => ["waiting", "delaying"].includes(m?.state?.phase) && Date.parse(m.state.due_at) || 0;

// stopped reports whether no worker runs.
export const stopped = m => m.worker !== "running";

// silence returns until when the conversation is silent, or null. A mute is forever: its end is
// decades away.
export function silence(m) {
  const until = Date.parse(m?.silenced_until || "");
  if (!(until > now())) return null;
  return { until, forever: until - now() > 10 * 365 * 86400e3 };
}

on("place", follow);
document.addEventListener("visibilitychange", () => {
  if (isWatched()) follow();
  else unfollow();
});
