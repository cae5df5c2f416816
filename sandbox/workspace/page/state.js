// The page's state, and the events by which its parts learn of changes.

export const $ = id => document.getElementById(id);

export const state = {
  team: "", name: "", bot: null,
  workspaces: [], // all that have a page
  installed: true, install: "", // whether the app is installed here, and where that begins
  tools: {}, // what the bot is doing while a tool runs, by its name
  users: new Map(), // by id
  channels: new Map(), // by id; each with its messages by ts
  me: null, // the writer: a user's id
  channel: null, thread: null, // what is open; thread is the ts of its root
  home: false, // whether the Home tab is open instead of the channel
  homes: new Map(), // the blocks of the Home tabs, by user
  reads: new Map(), // the ts up to which a person has read a channel
  people: "", // everybody's names: what shows names is redrawn when this changes
};

const listeners = new Map();

// on calls f at each event: "place" (another channel, thread or writer), "chat" (messages
// changed), "mind" (the mind's state changed), "why" (somebody asks why the bot said something).
// It returns a function that unsubscribes.
export function on(what, f) {
  if (!listeners.has(what)) listeners.set(what, new Set());
  listeners.get(what).add(f);
  return () => listeners.get(what).delete(f);
}

export function emit(what, detail) {
  for (const f of [...listeners.get(what) || []]) f(detail);
}

export const names = {
  user: id => { const u = state.users.get(id); return u?.display_name || u?.real_name || u?.name || id; },
  channel: (id, label) => state.channels.get(id)?.name || label || id,
  me: id => id === state.me || id === state.bot.user_id,
};

export const people = () => [...state.users.values()].filter(u => !u.is_bot);
export const visible = () => [...state.channels.values()].filter(c => c.members.includes(state.me));
export const currentChannel = () => state.channels.get(state.channel);
export const title = c => c.kind === "im" ? names.user(c.members.find(id => id !== state.me)) : (c.kind === "group" ? "" : "#") + c.name;
export const seen = m => !m.for || m.for === state.me; // for: the only user who sees it
export const isReply = m => !!m.thread_ts && m.thread_ts !== m.ts;
export const count = (n, one, many) => n + " " + (n === 1 ? one : many);

// navigate opens a channel, a thread or the Home tab, or changes the writer.
export function navigate(place) {
  const before = state.channel + "/" + state.thread + "/" + state.home;
  if (place.channel && place.channel !== state.channel) state.thread = null;
  Object.assign(state, { home: false }, place);
  if (!visible().some(c => c.id === state.channel)) Object.assign(state, { channel: visible()[0]?.id || null, thread: null });
  emit("place", before !== state.channel + "/" + state.thread + "/" + state.home);
}

// send posts a write to the sandbox. It shows and returns the error message, or returns "".
export async function send(path, body) {
  let refused = "";
  try {
    const answer = await fetch("sandbox/" + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) refused = (await answer.text()).trim() || "HTTP " + answer.status;
  } catch {
    refused = "The sandbox does not answer.";
  }
  if (refused) problem(refused);
  return refused;
}

// act sends an action in the open channel as the writer and returns whether it succeeded.
export const act = async (action, body) => !await send(action, { channel: state.channel, user: state.me, ...body });

export function problem(text) {
  $("problem").textContent = errorTexts[text] || text;
  (document.querySelector("dialog[open]") || document.body).append($("problem")); // before an open window, not behind it
  $("problem").hidden = false;
  clearTimeout(problem.timer);
  problem.timer = setTimeout(() => { $("problem").hidden = true; }, 6000);
}

// errorTexts explain Slack's errors.
const errorTexts = {
  no_text: "There is nothing to send.", message_not_found: "That message is no longer there.", not_in_channel: "The writer is not in this channel.",
  cant_update_message: "Only the author of a message may change it.", is_archived: "This channel is archived.",
  button_not_found: "That button is no longer there.", click_not_taken: "The bot did not take the click. Press the button again.", view_not_found: "That window is no longer there.",
};
