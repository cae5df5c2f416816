// The left column: channels with their unread messages, and the people to write as.
import { avatar, icon } from "./icons.js";
import { showRows } from "./list.js";
import { el } from "./render.js";
import { $, navigate, currentChannel, names, on, people, seen, state, title, visible } from "./state.js";

const key = (user, channel) => user + " " + channel;
const newest = c => [...c.messages.keys()].reduce((a, b) => a > b ? a : b, "");

// markRead marks the open channel as read. Messages from before the page was opened count as read.
function markRead() {
  for (const c of state.channels.values()) {
    for (const u of c.members) if (!state.reads.has(key(u, c.id))) state.reads.set(key(u, c.id), newest(c));
  }
  if (currentChannel()) state.reads.set(key(state.me, state.channel), newest(currentChannel()));
}

function unread(c) {
  const upTo = state.reads.get(key(state.me, c.id)) || "";
  const all = [...c.messages.values()].filter(m => m.ts > upTo && m.user !== state.me && seen(m));
  return { all: all.length, mine: all.filter(m => c.kind === "im" || m.text?.includes("<@" + state.me)).length };
}

function channel(c) {
  const { all, mine } = unread(c), current = c.id === state.channel && !state.home, name = title(c).replace(/^#/, "");
  return { key: c.id, version: JSON.stringify([name, all > 0, mine, current]), make: () => el("li", {}, el("button", {
    type: "button", class: all ? "unread" : undefined, dataset: { channel: c.id }, "aria-current": current ? "page" : undefined,
    onclick: () => { navigate({ channel: c.id, thread: null }); $("text-main").focus(); },
  }, c.kind === "im" ? avatar(state.bot.user_id, true) : el("span", { class: "hash", "aria-hidden": "true" }, c.kind === "group" ? icon("lock") : "#"),
  el("span", { class: "name" }, name), c.kind === "group" && el("span", { class: "sr" }, "private"),
  all > 0 && mine === 0 && el("span", { class: "dot" }, el("span", { class: "sr" }, "unread")),
  mine > 0 && el("span", { class: "mentions" }, String(mine), el("span", { class: "sr" }, mine === 1 ? " mention" : " mentions")))) };
}

function person(u, i) {
  const current = u.id === state.me, name = names.user(u.id);
  return { key: u.id, version: JSON.stringify([name, i, current]), make: () => el("li", {}, el("button", {
    type: "button", dataset: { user: u.id }, "aria-pressed": String(current), "aria-keyshortcuts": i < 9 ? "Alt+" + (i + 1) : undefined,
    onclick: () => { navigate({ me: u.id }); $("text-main").focus(); },
  }, avatar(u.id), el("span", { class: "name" }, name), i < 9 && el("kbd", { "aria-hidden": "true" }, "Alt " + (i + 1)))) };
}

export function drawSide() {
  markRead();
  showRows($("channels"), visible().filter(c => c.kind !== "im").map(channel));
  showRows($("dms"), visible().filter(c => c.kind === "im").map(channel));
  showRows($("people"), people().map(person));
  const waiting = visible().reduce((n, c) => n + unread(c).mine, 0);
  document.title = (waiting ? `(${waiting}) ` : "") + (currentChannel() ? title(currentChannel()) + " · " : "") + state.name;
}

on("place", drawSide);
on("chat", drawSide);
