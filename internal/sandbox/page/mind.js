// What is known of the bot's mind: the stream of the conversation that is open.
import { now, setNow } from "./clock.js";
import { on, state, tell } from "./state.js";
import { stream } from "./stream.js";

export const mind = {
  latest: null, // what the server told last
  connected: false,
};

let followed = null, leave = null; // leave: while there is a stream

// follow listens to the conversation that is open: the thread's, else the channel's.
export function follow() {
  const wanted = state.channel && state.channel + "/" + (state.thread || "");
  if (wanted === followed && leave || !wanted || !watched()) return;
  rest();
  if (wanted !== followed) mind.latest = null;
  followed = wanted;
  const query = new URLSearchParams({ channel: state.channel, ...(state.thread && { thread: state.thread }) });
  leave = stream("sandbox/mind?" + query, hear, connected => {
    mind.connected = connected;
    tell("mind");
  });
  tell("mind");
}

const watched = () => !document.hidden || document.body.classList.contains("touring");

// rest lets go of the stream while nobody looks: a browser has few connections to one host.
function rest() {
  leave?.();
  leave = null;
}

function hear(news) {
  setNow(news.now);
  mind.latest = news;
  mind.connected = true;
  tell("mind");
}

// of reports whether what is known is of this conversation.
export function of(channel, thread) {
  const c = mind.latest?.conversation;
  return !!c && c.channel === channel && (c.thread || null) === (thread || null);
}

// ── reading it ─────────────────────────────────────────────────────────────

// phaseOf is the phase; of a conversation that nobody could be asked about, what Temporal knows.
export const phaseOf = m => m?.state?.phase || m?.phase || "";

// dueOf is when the judgment or the reply is due that it waits for, or 0.
export const dueOf = m => ["waiting", "delaying"].includes(m?.state?.phase) && Date.parse(m.state.due_at) || 0;

// stopped reports whether there is no worker to carry anything out.
export const stopped = m => m.worker !== "running";

// silence is until when the conversation is silent, or null. A mute has no end that means anything.
export function silence(m) {
  const until = Date.parse(m?.silenced_until || "");
  if (!(until > now())) return null;
  return { until, forever: until - now() > 10 * 365 * 86400e3 };
}

on("place", follow);
document.addEventListener("visibilitychange", () => {
  if (watched()) follow();
  else rest();
});
