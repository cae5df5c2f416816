// How other parts speak of messages: who wrote, when, and how it begins.
import { clock, tsTime } from "./clock.js";
import { editable, source } from "./render.js";
import { names, state } from "./state.js";

const find = ts => state.channels.get(state.channel)?.messages.get(ts);

// excerpt is how a message begins, in one line.
export function excerpt(ts, most = 60) {
  const m = find(ts);
  if (!m) return "a message that is no longer there";
  const text = editable(source(m), names).replace(/\s+/g, " ").trim() || m.files?.[0]?.name || "";
  const characters = [...text]; // an emoji is two units of a string
  return characters.length > most ? characters.slice(0, most - 1).join("").trimEnd() + "…" : text;
}

export const author = ts => { const m = find(ts); return m ? m.username || names.user(m.user || m.bot_id) : "somebody"; };
export const wrote = ts => ts && find(ts) ? `${author(ts)}'s “${excerpt(ts, 44)}”` : "a message";
export const isThere = ts => !!find(ts);
export const at = ts => clock(tsTime(ts));

// person is who gave an order, as the ledger has it: slack:U… or cli:NAME.
export function person(by) {
  const [kind, id] = [by.slice(0, by.indexOf(":")), by.slice(by.indexOf(":") + 1)];
  return kind === "slack" ? names.user(id) : kind === "cli" ? id + " (at the command line)" : by;
}

// complaint is what Slack said of a post that failed, without the names of ours around it.
export const complaint = error => error.replace(/^slack \S+: /, "").split(":")[0];
