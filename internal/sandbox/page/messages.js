// The middle: the messages of the open channel, and of the open thread.
import { clock, dayName, tsTime } from "./clock.js";
import { avatar, face, icon } from "./icons.js";
import { keep } from "./list.js";
import { editable, el, rich, source } from "./render.js";
import { $, act, count, go, here, isReply, names, on, seen, state, tell, title } from "./state.js";

const quick = ["thumbsup", "eyes", "tada"];
const apart = /join|leave|tombstone|me_message/;

export function drawMessages() {
  const c = here();
  if (!c) return;
  const all = [...c.messages.values()].filter(seen).sort((a, b) => a.ts < b.ts ? -1 : 1);
  fill($("messages"), all.filter(m => !isReply(m) || m.subtype === "thread_broadcast"), false);
  const root = state.thread && c.messages.get(state.thread);
  if (state.thread && !root) {
    const there = document.querySelector(".thread").contains(document.activeElement);
    go({ thread: null });
    if (there) $("text-main").focus();
    return;
  }
  document.querySelector(".thread").hidden = !root;
  document.body.classList.toggle("threaded", !!root);
  if (root) fill($("replies"), [root, ...all.filter(m => isReply(m) && m.thread_ts === root.ts)], true);
}

export function drawHeads() {
  const c = here();
  if (!c) return;
  $("title").textContent = title(c);
  $("members").textContent = c.kind === "im" ? "A direct message with the bot: every message addresses it" : c.members.map(names.user).join(", ");
  $("thread-of").textContent = "in " + title(c);
}

// ── lists ──────────────────────────────────────────────────────────────────

// fill shows messages in a list. One that is being edited is left alone.
function fill(list, messages, inThread) {
  const of = state.channel + "/" + (inThread ? state.thread : ""), moved = list.dataset.of !== of;
  const atEnd = moved || list.atEnd !== false;
  const rows = [], put = (key, look, make) => rows.push({ key: of + key, look, make });
  let last = null, day = "";
  for (const m of messages) {
    const at = tsTime(m.ts), today = at.toDateString();
    if (today !== day && !inThread) put("day " + today, dayName(at), () => el("li", { class: "day" }, el("span", {}, dayName(at))));
    const close = !!last && today === day && last.user === m.user && last.bot_id === m.bot_id && !last.reply_count && m.ts - last.ts < 180 && !apart.test((m.subtype || "") + (last.subtype || ""));
    put(m.ts, JSON.stringify([m, close, state.me, state.people, state.thread === m.ts]), () => row(m, close, inThread, at));
    if (inThread && last === null && messages.length > 1) put("count", String(messages.length), () => el("li", { class: "day" }, el("span", {}, count(messages.length - 1, "reply", "replies"))));
    [last, day] = [m, today];
  }
  if (!messages.length) put("empty", "", empty);
  keep(list, rows, node => node.querySelector(".editing"));
  list.dataset.of = of;
  if (atEnd) toEnd(list);
  else if (messages.length > list.shown) list.parentElement.querySelector(".newer").hidden = false;
  list.shown = messages.length;
}

// toEnd goes down to the newest message, where a list stays from then on.
export function toEnd(list) {
  list.scrollTop = list.scrollHeight;
  list.atEnd = true;
  list.parentElement.querySelector(".newer").hidden = true;
}

// settle keeps a list where it is while the room for it changes, be it for a while to none.
const settle = new ResizeObserver(changes => {
  for (const { target: list } of changes) {
    if (list.atEnd !== false) toEnd(list);
    else list.scrollTop = list.at;
  }
});

function empty() {
  const c = here(), bot = el("span", { class: "mention" }, "@" + state.bot.name);
  return el("li", { class: "empty" },
    el("span", { class: "large" }, avatar(state.bot.user_id, true)),
    c.kind === "im" ? el("p", {}, "Whatever you write here is meant for the bot, and answered.")
      : el("p", {}, "Nothing has been said here yet. Mention ", bot, " and it answers at once; say anything else, and it waits, and makes up its mind."),
    el("p", {}, el("button", { type: "button", class: "link", onclick: () => $("tour").click() }, "Take the tour: one minute")));
}

// ── one message ────────────────────────────────────────────────────────────

function row(m, close, inThread, at) {
  const author = m.user || m.bot_id || "", bot = !!m.bot_id;
  const time = el("time", { datetime: at.toISOString(), title: at.toLocaleString() }, clock(at));
  if (/join|leave|tombstone/.test(m.subtype || "")) return el("li", { class: "note", dataset: { ts: m.ts }, tabindex: -1 }, rich(m.text, names), threadLink(m, inThread));
  const name = m.username || m.bot_profile?.name || names.user(author);
  const body = rich(source(m), names);
  if (m.edited) (body.lastElementChild || body).append(el("span", { class: "edited" }, " (edited)"));
  const kinds = ["message", close && "follows", bot && "own", m.subtype === "me_message" && "me", m.for && "ephemeral"].filter(Boolean).join(" ");
  return el("li", { class: kinds, dataset: { ts: m.ts }, tabindex: -1 },
    close ? el("span", { class: "when" }, time) : avatar(author || name, author === state.bot.user_id),
    el("div", { class: "body" },
      close ? el("span", { class: "sr" }, name + ":") : el("div", { class: "who" }, el("strong", {}, name), bot && el("span", { class: "badge" }, "app"), time, m.for && el("span", { class: "only" }, "only visible to you")),
      m.subtype === "thread_broadcast" && !inThread && el("button", { type: "button", class: "broadcast", onclick: () => openThread(m.thread_ts) }, "replied to a thread"),
      body,
      ...(m.files || []).map(f => el("div", { class: "attachment" }, icon(f.mimetype.startsWith("image/") ? "image" : "page"), el("span", {}, f.name), el("small", {}, f.mimetype))),
      reactions(m), threadLink(m, inThread)),
    !m.for && tools(m, inThread));
}

function threadLink(m, inThread) {
  if (inThread || !m.reply_count) return null;
  return el("button", { type: "button", class: "replies" + (state.thread === m.ts ? " open" : ""), onclick: () => openThread(m.ts) },
    ...(m.reply_users || []).slice(0, 3).map(id => avatar(id)), el("b", {}, count(m.reply_count, "reply", "replies")), " ", el("small", {}, "last at " + clock(tsTime(m.latest_reply))));
}

function reactions(m) {
  if (!m.reactions?.length) return null;
  return el("div", { class: "reactions" }, ...m.reactions.map(r => el("button", {
    type: "button", "aria-pressed": String(r.users.includes(state.me)), title: r.users.map(names.user).join(", ") + " :" + r.name + ":",
    "aria-label": `${r.name}, ${r.count}`, onclick: () => act("react", { ts: m.ts, name: r.name }),
  }, el("span", {}, face(r.name)), " " + r.count)));
}

function tools(m, inThread) {
  const mine = m.user === state.me && !m.bot_id;
  const tool = (label, text, onclick) => el("button", { type: "button", title: label, "aria-label": label, onclick }, text);
  return el("div", { class: "hover" },
    ...quick.map(name => tool("React with " + name, face(name), () => act("react", { ts: m.ts, name }))),
    !inThread && tool("Reply in thread", "Reply", () => openThread(m.thread_ts || m.ts)),
    m.user === state.bot.user_id && tool("Why did it say that?", "Why?", () => tell("why", m)),
    mine && tool("Edit message", "Edit", e => edit(m, e.currentTarget.closest("li"))),
    mine && tool("Delete message", "Delete", () => act("delete", { ts: m.ts })));
}

export function openThread(ts) {
  go({ thread: ts });
  $("text-thread").focus();
}

// reveal scrolls to a message and lights it up; it reports whether the message is shown.
export function reveal(ts) {
  const line = document.querySelector(`.thread:not([hidden]) [data-ts="${CSS.escape(ts)}"]`) || $("messages").querySelector(`[data-ts="${CSS.escape(ts)}"]`);
  if (!line) return false;
  line.scrollIntoView({ block: "nearest" });
  flash(line);
  return true;
}

export function flash(node) {
  node.classList.remove("flash");
  void node.offsetWidth; // so that it begins anew
  node.classList.add("flash");
}

// ── editing ────────────────────────────────────────────────────────────────

function edit(m, line) {
  if (line.querySelector(".editing")) return;
  const area = el("textarea", { rows: 2, "aria-label": "Edit the message" });
  area.value = editable(m.text, names);
  const end = () => {
    form.remove();
    line.classList.remove("under-edit");
    drawMessages();
    $(line.closest(".thread") ? "text-thread" : "text-main").focus();
  };
  const save = async () => { if (await act("edit", { ts: m.ts, text: area.value })) end(); };
  const form = el("form", { class: "editing", onsubmit: e => { e.preventDefault(); save(); } }, area,
    el("div", { class: "tools" }, el("button", { type: "button", onclick: end }, "Cancel"), el("button", { type: "submit", class: "send primary" }, "Save")));
  area.addEventListener("keydown", e => {
    if (e.key === "Escape") { e.preventDefault(); end(); }
    if (e.key === "Enter" && !e.shiftKey) { e.preventDefault(); save(); }
  });
  line.classList.add("under-edit");
  line.querySelector(".body").append(form);
  area.focus();
  form.scrollIntoView({ block: "nearest" });
}

// editLast edits the newest message of who writes, if it is shown.
export function editLast(list) {
  const own = [...list.querySelectorAll(".message")].reverse().map(line => [here().messages.get(line.dataset.ts), line]).find(([m]) => m?.user === state.me && !m.for);
  if (own) edit(...own);
}

// ── keyboard ───────────────────────────────────────────────────────────────

// The arrow keys go from message to message; Tab goes on to what can be done with it.
function walk(e) {
  const to = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[e.key];
  if (!to || e.target.closest("textarea, input")) return;
  const lines = [...e.currentTarget.querySelectorAll("[data-ts]")];
  if (!lines.length) return;
  e.preventDefault();
  const at = lines.indexOf(e.target.closest("[data-ts]"));
  lines[Math.max(0, Math.min(lines.length - 1, (at < 0 ? lines.length : at) + to))].focus();
}

for (const list of [$("messages"), $("replies")]) {
  const button = list.parentElement.querySelector(".newer");
  list.addEventListener("keydown", walk);
  list.addEventListener("scroll", () => {
    if (!list.clientHeight) return; // it is not shown
    list.at = list.scrollTop;
    list.atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    if (list.atEnd) button.hidden = true;
  }, { passive: true });
  button.addEventListener("click", () => toEnd(list));
  settle.observe(list);
}

on("place", () => { drawHeads(); drawMessages(); });
on("chat", () => { drawHeads(); drawMessages(); });
