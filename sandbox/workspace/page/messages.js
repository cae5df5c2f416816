// The messages of the open channel and of the open thread.
import { clock, dayName, tsTime } from "./clock.js";
import { attachment } from "./files.js";
import { avatar, emojiOrName } from "./icons.js";
import { showRows } from "./list.js";
import { expectModal } from "./modal.js";
import { body, editable, el, rich } from "./render.js";
import { $, act, count, navigate, currentChannel, isReply, names, on, seen, state, emit, title, visible } from "./state.js";

const quickReactions = ["thumbsup", "eyes", "tada", "robot_face"];
const standalone = /join|leave|tombstone|me_message/;

export function drawMessages() {
  const c = currentChannel();
  if (!c) return;
  const all = [...c.messages.values()].filter(seen).sort((a, b) => a.ts < b.ts ? -1 : 1);
  fill($("messages"), all.filter(m => !isReply(m) || m.subtype === "thread_broadcast"), false);
  const root = state.thread && c.messages.get(state.thread);
  if (state.thread && !root) {
    const there = document.querySelector(".thread").contains(document.activeElement);
    navigate({ thread: null });
    if (there) $("text-main").focus();
    return;
  }
  document.querySelector(".thread").hidden = !root;
  document.body.classList.toggle("threaded", !!root);
  if (root) fill($("replies"), [root, ...all.filter(m => isReply(m) && m.thread_ts === root.ts)], true);
}

export function drawHeads() {
  if (state.home) return; // home.js draws it
  const c = currentChannel();
  if (!c) return;
  $("title").textContent = title(c);
  $("members").textContent = c.kind === "im" ? "A direct message with the bot: every message addresses it" : c.members.map(names.user).join(", ");
  $("thread-of").textContent = "in " + title(c);
}

// ── lists ──────────────────────────────────────────────────────────────────

// fill shows messages in a list. A message that is being edited stays as it is.
function fill(list, messages, inThread) {
  const of = state.channel + "/" + (inThread ? state.thread : ""), moved = list.dataset.of !== of;
  const atEnd = moved || list.atEnd !== false;
  const rows = [], put = (key, version, make) => rows.push({ key: of + key, version, make });
  let last = null, day = "";
  for (const m of messages) {
    const at = tsTime(m.ts), today = at.toDateString();
    if (today !== day && !inThread) put("day " + today, dayName(at), () => el("li", { class: "day" }, el("span", {}, dayName(at))));
    const close = !!last && today === day && last.user === m.user && last.bot_id === m.bot_id && !last.reply_count && m.ts - last.ts < 180 && !standalone.test((m.subtype || "") + (last.subtype || ""));
    put(m.ts, JSON.stringify([m, close, state.me, state.people, state.thread === m.ts]), () => row(m, close, inThread, at));
    if (inThread && last === null && messages.length > 1) put("count", String(messages.length), () => el("li", { class: "day" }, el("span", {}, count(messages.length - 1, "reply", "replies"))));
    [last, day] = [m, today];
  }
  if (!messages.length) put("empty", "", empty);
  showRows(list, rows, node => node.querySelector(".editing"));
  list.dataset.of = of;
  if (atEnd) scrollToEnd(list);
  else if (messages.length > list.shown) list.parentElement.querySelector(".newer").hidden = false;
  list.shown = messages.length;
}

// scrollToEnd scrolls a list to its newest message. The list then follows new messages.
export function scrollToEnd(list) {
  list.scrollTop = list.scrollHeight;
  list.atEnd = true;
  list.parentElement.querySelector(".newer").hidden = true;
}

// keepScroll keeps a list's scroll position while its height changes, even to zero for a while.
const keepScroll = new ResizeObserver(changes => {
  for (const { target: list } of changes) {
    if (list.atEnd !== false) scrollToEnd(list);
    else list.scrollTop = list.at;
  }
});

function empty() {
  const c = currentChannel(), bot = el("span", { class: "mention" }, "@" + state.bot.name);
  return el("li", { class: "empty" },
    el("span", { class: "large" }, avatar(state.bot.user_id, true)),
    c.kind === "im" ? el("p", {}, "The bot answers everything that you write here.")
      : el("p", {}, "A small Slack of your own, with a bot that knows when to be quiet. Mention ", bot, " and it answers at once. Write anything else: it lets people answer first, and then decides whether anybody still needs it."),
    el("p", {}, el("button", { type: "button", class: "link", onclick: () => $("tour").click() }, "Take the tour: three minutes")));
}

// ── one message ────────────────────────────────────────────────────────────

function row(m, close, inThread, at) {
  const author = m.user || m.bot_id || "", bot = !!m.bot_id;
  const time = el("time", { datetime: at.toISOString(), title: at.toLocaleString() }, clock(at));
  if (/join|leave|tombstone/.test(m.subtype || "")) return el("li", { class: "note", dataset: { ts: m.ts }, tabindex: -1 }, rich(m.text, names), threadLink(m, inThread));
  const name = m.username || m.bot_profile?.name || names.user(author);
  const parts = body(m, names, (b, node) => press(m, b, node)), text = parts.findLast(p => p.matches(".text")) || parts.at(-1);
  for (const p of parts) showVote(p, m);
  if (m.edited) (text.lastElementChild || text).append(el("span", { class: "edited" }, " (edited)"));
  const kinds = ["message", close && "follows", bot && "own", m.subtype === "me_message" && "me", m.for && "ephemeral"].filter(Boolean).join(" ");
  return el("li", { class: kinds, dataset: { ts: m.ts }, tabindex: -1 },
    close ? el("span", { class: "when" }, time) : avatar(author || name, author === state.bot.user_id),
    el("div", { class: "body" },
      close ? el("span", { class: "sr" }, name + ":") : el("div", { class: "who" }, el("strong", {}, name), bot && el("span", { class: "badge" }, "app"), time, m.for && el("span", { class: "only" }, "only visible to you")),
      m.subtype === "thread_broadcast" && !inThread && el("button", { type: "button", class: "broadcast", onclick: () => openThread(m.thread_ts) }, "replied to a thread"),
      ...parts,
      ...(m.files || []).map(attachment),
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
  }, el("span", {}, emojiOrName(r.name)), " " + r.count)));
}

function tools(m, inThread) {
  const mine = m.user === state.me && !m.bot_id;
  const tool = (label, text, onclick) => el("button", { type: "button", title: label, "aria-label": label, onclick }, text);
  return el("div", { class: "hover" },
    ...quickReactions.map(name => tool("React with " + name, emojiOrName(name), () => act("react", { ts: m.ts, name }))),
    !inThread && tool("Reply in thread", "Reply", () => openThread(m.thread_ts || m.ts)),
    m.user === state.bot.user_id && tool("Why did it say that?", "Why?", () => emit("why", m)),
    mine && tool("Edit message", "Edit", e => edit(m, e.currentTarget.closest("li"))),
    mine && tool("Delete message", "Delete", () => act("delete", { ts: m.ts })));
}

// press presses a button of a message, which then changes.
async function press(m, button, node) {
  if (node.hasAttribute("aria-disabled")) return;
  node.setAttribute("aria-disabled", "true");
  expectModal();
  const taken = await act("click", { ts: m.ts, name: button.action_id, value: button.value || "" });
  node.removeAttribute("aria-disabled");
  if (taken && node.dataset.vote) votes.set(state.me + " " + m.ts, node.dataset.vote);
  showVote(node.parentElement, m);
}

const votes = new Map(); // by person and ts; only they are shown it

// showVote marks what the writer has voted about a message.
function showVote(box, m) {
  for (const b of box.querySelectorAll("[data-vote]")) b.setAttribute("aria-pressed", String(votes.get(state.me + " " + m.ts) === b.dataset.vote));
}

export function openThread(ts) {
  navigate({ thread: ts });
  $("text-thread").focus();
}

// reveal scrolls to a message and highlights it. It returns whether the message is shown.
export function reveal(ts) {
  const line = document.querySelector(`.thread:not([hidden]) [data-ts="${CSS.escape(ts)}"]`) || $("messages").querySelector(`[data-ts="${CSS.escape(ts)}"]`);
  if (!line) return false;
  line.scrollIntoView({ block: "nearest" });
  flash(line);
  return true;
}

// A link to a message of this workspace opens it here.
document.addEventListener("click", e => {
  const link = e.target.closest?.(".messages a[href]"), url = link && new URL(link.href);
  const [, channel, seconds, micros] = url?.origin === location.origin && /^\/archives\/(\w+)\/p(\d{10,})(\d{6})$/.exec(url.pathname) || [];
  if (!visible().some(c => c.id === channel)) return;
  e.preventDefault();
  navigate({ channel, thread: url.searchParams.get("thread_ts") });
  reveal(`${seconds}.${micros}`);
});

export function flash(node) {
  node.classList.remove("flash");
  void node.offsetWidth; // restarts the animation
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

// editLast edits the writer's newest message, if it is shown.
export function editLast(list) {
  const own = [...list.querySelectorAll(".message")].reverse().map(line => [currentChannel().messages.get(line.dataset.ts), line]).find(([m]) => m?.user === state.me && !m.for);
  if (own) edit(...own);
}

// ── keyboard ───────────────────────────────────────────────────────────────

// The arrow keys move between messages; Tab moves on to a message's buttons.
function moveBetweenMessages(e) {
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
  list.addEventListener("keydown", moveBetweenMessages);
  list.addEventListener("scroll", () => {
    if (!list.clientHeight) return; // hidden
    list.at = list.scrollTop;
    list.atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    if (list.atEnd) button.hidden = true;
  }, { passive: true });
  button.addEventListener("click", () => scrollToEnd(list));
  keepScroll.observe(list);
}

on("place", () => { drawHeads(); drawMessages(); });
on("chat", () => { drawHeads(); drawMessages(); });
