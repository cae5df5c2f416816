// What the bot shows in the open thread while somebody waits for its answer, as Slack shows a status
// behind the app's name.
import { $, names, on, state } from "./state.js";

const shown = new Map(); // by channel and thread: the status, and the timer that ends it

// takeStatus applies a change of one thread's status. left is how long it is shown, in milliseconds.
export function takeStatus({ channel, ts, status, left }) {
  const place = channel + "/" + ts;
  clearTimeout(shown.get(place)?.timer);
  shown.delete(place);
  if (status) shown.set(place, { status, timer: setTimeout(() => { shown.delete(place); draw(); }, left) });
  draw();
}

// takeStatuses replaces all statuses.
export function takeStatuses(all) {
  for (const s of shown.values()) clearTimeout(s.timer);
  shown.clear();
  all.forEach(takeStatus);
  draw();
}

function draw() {
  const status = state.thread && shown.get(state.channel + "/" + state.thread)?.status;
  const says = status ? `${names.user(state.bot.user_id)} ${status}` : "";
  if ($("doing").textContent !== says) $("doing").textContent = says;
}

on("place", draw);
