// Short descriptions of messages: author, time, and beginning.
import { clock, tsTime } from "./clock.js";
import { editable, source } from "./render.js";
import { names, state } from "./state.js";

const find = ts => state.channels.get(state.channel)?.messages.get(ts);

// excerpt returns the beginning of a message in one line.
export function excerpt(ts, most = 60) {
  const m = find(ts);
  if (!m) return "a message that is no longer there";
  const text = editable(source(m), names).replace(/\s+/g, " ").trim() || m.files?.[0]?.name || "";
  const characters = [...text]; // not UTF-16 units: an emoji has two
  return characters.length > most ? characters.slice(0, most - 1).join("").trimEnd() + "…" : text;
}

export const author = ts => { const m = find(ts); return m ? m.username || names.user(m.user || m.bot_id) : "somebody"; };
export const authorAndExcerpt = ts => ts && find(ts) ? `${author(ts)}'s “${excerpt(ts, 44)}”` : "a message";
export const exists = ts => !!find(ts);
export const timeOf = ts => clock(tsTime(ts));

// person names the author of an order in the ledger: slack:U… or cli:NAME.
export function person(by) {
  const [kind, id] = [by.slice(0, by.indexOf(":")), by.slice(by.indexOf(":") + 1)];
  return kind === "slack" ? names.user(id) : kind === "cli" ? id + " (at the command line)" : by;
}

// slackError returns Slack's part of a failed post's error, without our prefix.
export const slackError = error => error.replace(/^slack \S+: /, "").split(":")[0];
