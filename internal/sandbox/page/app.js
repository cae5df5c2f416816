"use strict";
const $ = id => document.getElementById(id);
const state = { users: new Map(), channels: new Map(), bot: null, me: null, channel: null, thread: null, workflows: "", unread: new Set(), drafts: {} };
const emoji = { thumbsup: "👍", "+1": "👍", eyes: "👀", heart: "❤️", tada: "🎉", white_check_mark: "✅", joy: "😂", wave: "👋", thinking_face: "🤔", x: "❌" };
// Without a font for emoji their names are shown: a colour among the pixels tells.
const hasEmoji = (() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 20, height: 20 }).getContext("2d", { willReadFrequently: true });
  pen.font = "16px sans-serif";
  pen.fillText("🎉", 0, 16);
  const pixels = pen.getImageData(0, 0, 20, 20).data;
  return pixels.some((v, i) => i % 4 < 2 && pixels[i + 3 - i % 4] > 128 && Math.abs(v - pixels[i + 1]) > 20);
})();
const face = name => hasEmoji && emoji[name] || ":" + name + ":";
const quick = ["thumbsup", "eyes", "tada"];

const names = {
  user: id => state.users.get(id)?.display_name || state.users.get(id)?.real_name || state.users.get(id)?.name || id,
  channel: (id, label) => state.channels.get(id)?.name || label || id,
  me: id => id === state.me || id === state.bot.user_id,
};

async function post(action, body) {
  const answer = await fetch("sandbox/" + action, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ channel: state.channel, user: state.me, ...body }) });
  if (answer.ok) return true;
  problem((await answer.text()).trim());
  return false;
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = false;
  clearTimeout(problem.timer);
  problem.timer = setTimeout(() => { $("problem").hidden = true; }, 4000);
}

// ── loading ────────────────────────────────────────────────────────────────

const load = async () => take(await (await fetch("sandbox/state")).json());

function take(s) {
  state.bot = s.bot;
  state.team = s.team;
  state.workflows = s.workflows;
  state.users = new Map(s.users.map(u => [u.id, u]));
  state.channels = new Map((s.channels || []).map(c => [c.id, { ...c, messages: new Map(c.messages.map(m => [m.ts, m])) }]));
  const people = s.users.filter(u => !u.is_bot);
  const wish = new URLSearchParams(location.hash.slice(1));
  state.me ||= people.find(u => u.name === wish.get("as"))?.id || people[0]?.id;
  if (!state.channels.has(state.channel)) {
    const named = [...state.channels.values()].find(c => c.name === wish.get("channel"));
    state.channel = (named || visible()[0])?.id || null;
    state.thread = wish.get("thread");
  }
  $("hint").textContent = s.hint;
  $("hint").hidden = !s.hint;
  $("temporal").hidden = !s.workflows;
  if (s.workflows) $("temporal").href = s.workflows.replace(/\/namespaces\/.*/, "");
  for (const b of document.querySelectorAll("[data-do=mention]")) b.textContent = "@" + s.bot.name;
  $("misbehaviour").replaceChildren(...s.misbehaviour.map(m => el("li", {}, el("button", {
    type: "button", onclick: async e => {
      const button = e.currentTarget;
      if (await post("misbehave", { name: m.name })) { button.classList.add("armed"); setTimeout(() => button.classList.remove("armed"), 2000); }
    },
  }, m.title))));
  draw();
}

function listen() {
  const stream = new EventSource("sandbox/changes");
  stream.onopen = () => { $("status").textContent = "connected"; load(); };
  stream.onerror = () => { $("status").textContent = "reconnecting…"; };
  stream.onmessage = e => {
    const c = JSON.parse(e.data);
    if (c.kind === "members") { load(); return; }
    if (c.kind === "ephemeral" && c.user !== state.me) return;
    const channel = state.channels.get(c.channel);
    if (!channel) { load(); return; }
    if (c.kind === "deleted") channel.messages.delete(c.ts);
    else channel.messages.set(c.message.ts, c.kind === "ephemeral" ? { ...c.message, ephemeral: true } : c.message);
    if (c.channel !== state.channel) {
      if (c.kind === "message") { state.unread.add(c.channel); drawSide(); }
      return;
    }
    drawMessages();
  };
}

const shapes = {
  lock: "M5 7V5a3 3 0 0 1 6 0v2M3.5 7h9v6.5h-9z",
  image: "M2 3h12v10H2zM2 11l3.5-4 3 3 2-2 3.5 3M10.8 5.6h.1",
  page: "M4 2h5l3 3v9H4zM9 2v3h3M6 8h4M6 10.5h4",
};

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "shape");
  path.setAttribute("d", shapes[name]);
  svg.append(path);
  return svg;
}

// ── drawing ────────────────────────────────────────────────────────────────

function visible() {
  return [...state.channels.values()].filter(c => c.members.includes(state.me));
}

function avatar(id, bot) {
  const name = names.user(id);
  let hue = 0;
  for (const ch of id) hue = (hue * 31 + ch.codePointAt(0)) % 8;
  return el("span", { class: "avatar hue" + hue + (bot ? " bot" : ""), "aria-hidden": "true" }, (name[0] || "?").toUpperCase());
}

const channelName = c => c.kind === "im" ? names.user(c.members.find(id => id !== state.me)) : c.name;

function entry(c) {
  const mark = c.kind === "im" ? avatar(state.bot.user_id, true) : el("span", { class: "hash", "aria-hidden": "true" }, c.kind === "group" ? icon("lock") : "#");
  return el("li", {}, el("button", {
    type: "button", class: state.unread.has(c.id) ? "unread" : undefined, "aria-current": c.id === state.channel ? "page" : undefined,
    onclick: () => { state.channel = c.id; state.thread = null; state.unread.delete(c.id); draw(); $("text-main").focus(); },
  }, mark, el("span", { class: "name" }, channelName(c)), state.unread.has(c.id) && el("span", { class: "dot" }, el("span", { class: "sr" }, "unread"))));
}

function drawSide() {
  $("channels").replaceChildren(...visible().filter(c => c.kind !== "im").map(entry));
  $("dms").replaceChildren(...visible().filter(c => c.kind === "im").map(entry));
  $("people").replaceChildren(...[...state.users.values()].filter(u => !u.is_bot).map(u => el("li", {}, el("button", {
    type: "button", "aria-pressed": String(u.id === state.me),
    onclick: () => {
      state.me = u.id;
      if (!visible().some(c => c.id === state.channel)) { state.channel = visible()[0]?.id || null; state.thread = null; }
      draw();
      $("text-main").focus();
    },
  }, avatar(u.id), el("span", { class: "name" }, names.user(u.id)), u.id === state.me && el("span", { class: "you" }, "you")))));
}

function draw() {
  drawSide();
  const c = state.channels.get(state.channel);
  if (!c) return;
  const name = (c.kind === "im" ? "" : "#") + channelName(c);
  $("title").textContent = name;
  document.title = name + " · Sandbox";
  $("members").textContent = c.kind === "im" ? "Direct message with the bot: every message addresses it" : c.members.map(names.user).join(", ");
  show($("workflow"), c.workflow);
  $("text-main").placeholder = `Message ${name} as ${names.user(state.me)}`;
  $("text-thread").placeholder = `Reply as ${names.user(state.me)}`;
  drawMessages();
}

function show(anchor, href) {
  anchor.hidden = !href;
  if (href) anchor.href = href; else anchor.removeAttribute("href");
}

function drawMessages() {
  const c = state.channels.get(state.channel);
  if (!c) return;
  const all = [...c.messages.values()].sort((a, b) => a.ts < b.ts ? -1 : 1);
  const reply = m => m.thread_ts && m.thread_ts !== m.ts;
  fill($("messages"), all.filter(m => !reply(m) || m.subtype === "thread_broadcast"), false);
  const root = state.thread && c.messages.get(state.thread);
  if (state.thread && !root) state.thread = null;
  document.querySelector(".thread").hidden = !state.thread;
  document.body.classList.toggle("threaded", !!state.thread);
  if (!root) return;
  $("thread-of").textContent = `in ${$("title").textContent}`;
  show($("thread-workflow"), c.workflow && state.workflows + encodeURIComponent(`thread/${state.team}/${c.id}/${root.ts}`));
  fill($("replies"), [root, ...all.filter(m => reply(m) && m.thread_ts === root.ts)], true);
}

function fill(list, messages, inThread) {
  if (list.querySelector(".editing")) return; // not while somebody types there
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80 || list.dataset.of !== state.channel + state.thread;
  list.dataset.of = state.channel + state.thread;
  const rows = [];
  let last = null, day = "";
  for (const m of messages) {
    const at = new Date(parseFloat(m.ts) * 1000), today = at.toDateString();
    if (today !== day && !inThread) rows.push(el("li", { class: "day" }, el("span", {}, dayName(at))));
    const close = last && today === day && last.user === m.user && last.bot_id === m.bot_id && !last.reply_count && m.ts - last.ts < 180 && !/join|leave|tombstone|me_message/.test((m.subtype || "") + (last.subtype || ""));
    rows.push(row(m, close, inThread, at));
    if (inThread && last === null && messages.length > 1) rows.push(el("li", { class: "day" }, el("span", {}, count(messages.length - 1, "reply", "replies"))));
    [last, day] = [m, today];
  }
  if (!rows.length) rows.push(el("li", { class: "empty" }, el("p", {}, "Nothing has been said here yet."), state.channels.get(state.channel).kind !== "im" && el("p", {}, "Say something, or mention ", el("span", { class: "mention" }, "@" + state.bot.name), " to be answered at once.")));
  list.replaceChildren(...rows);
  if (atEnd) list.scrollTop = list.scrollHeight;
}

const count = (n, one, many) => n + " " + (n === 1 ? one : many);

function dayName(at) {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86400000);
  return days === 0 ? "Today" : days === 1 ? "Yesterday" : at.toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long" });
}

function row(m, close, inThread, at) {
  const author = m.user || m.bot_id || "", bot = !!m.bot_id;
  const time = el("time", { datetime: at.toISOString(), title: at.toLocaleString() }, at.toLocaleTimeString("en-GB"));
  if (/join|leave|tombstone/.test(m.subtype || "")) return el("li", { class: "note", dataset: { ts: m.ts } }, rich(m.text, names), threadLink(m, inThread));
  const name = m.username || m.bot_profile?.name || names.user(author);
  const body = rich(source(m), names);
  if (m.edited) body.lastElementChild?.append(el("span", { class: "edited" }, " (edited)"));
  return el("li", { class: "message" + (close ? " follows" : "") + (m.subtype === "me_message" ? " me" : "") + (m.ephemeral ? " ephemeral" : ""), dataset: { ts: m.ts } },
    close ? el("span", { class: "when" }, time) : avatar(author || name, bot),
    el("div", { class: "body" },
      !close && el("div", { class: "who" }, el("strong", {}, name), bot && el("span", { class: "badge" }, "app"), time, m.ephemeral && el("span", { class: "only" }, "only visible to you")),
      m.subtype === "thread_broadcast" && !inThread && el("button", { type: "button", class: "broadcast", onclick: () => openThread(m.thread_ts) }, "replied to a thread"),
      body,
      ...(m.files || []).map(f => el("div", { class: "attachment" }, el("span", { class: "icon", "aria-hidden": "true" }, icon(f.mimetype.startsWith("image/") ? "image" : "page")), el("span", {}, f.name), el("small", {}, f.mimetype))),
      reactions(m), threadLink(m, inThread)),
    !m.ephemeral && tools(m, inThread));
}

function threadLink(m, inThread) {
  if (inThread || !m.reply_count) return null;
  const latest = new Date(parseFloat(m.latest_reply) * 1000).toLocaleTimeString("en-GB");
  return el("button", { type: "button", class: "replies" + (state.thread === m.ts ? " open" : ""), onclick: () => openThread(m.ts) },
    ...(m.reply_users || []).slice(0, 3).map(id => avatar(id, id === state.bot.user_id)), el("b", {}, count(m.reply_count, "reply", "replies")), el("small", {}, "last at " + latest));
}

function reactions(m) {
  if (!m.reactions?.length) return null;
  return el("div", { class: "reactions" }, ...m.reactions.map(r => el("button", {
    type: "button", class: r.users.includes(state.me) ? "mine" : undefined, title: r.users.map(names.user).join(", ") + " :" + r.name + ":",
    "aria-label": `${r.name}, ${r.count}`, onclick: () => post("react", { ts: m.ts, name: r.name }),
  }, el("span", {}, face(r.name)), " " + r.count)));
}

function tools(m, inThread) {
  const mine = m.user === state.me && !m.bot_id;
  const tool = (label, text, onclick) => el("button", { type: "button", title: label, "aria-label": label, onclick }, text);
  return el("div", { class: "hover" },
    ...quick.map(name => tool("React with " + name, face(name), () => post("react", { ts: m.ts, name }))),
    !inThread && tool("Reply in thread", "Reply", () => openThread(m.thread_ts || m.ts)),
    mine && tool("Edit message", "Edit", e => edit(m, e.currentTarget.closest("li"))),
    mine && tool("Delete message", "Delete", () => post("delete", { ts: m.ts })));
}

function openThread(ts) {
  state.thread = ts;
  drawMessages();
  $("text-thread").focus();
}

function edit(m, line) {
  const area = el("textarea", { rows: 2, "aria-label": "Edit the message" });
  area.value = editable(m.text, names);
  const end = () => { line.querySelector(".editing")?.remove(); line.classList.remove("under-edit"); drawMessages(); };
  const save = async () => { if (await post("edit", { ts: m.ts, text: area.value })) end(); };
  const form = el("form", { class: "editing", onsubmit: e => { e.preventDefault(); save(); } }, area,
    el("div", { class: "tools" }, el("button", { type: "button", class: "tool", onclick: end }, "Cancel"), el("button", { type: "submit", class: "send" }, "Save")));
  area.addEventListener("keydown", e => {
    if (e.key === "Escape") end();
    if (e.key === "Enter" && !e.shiftKey) { e.preventDefault(); save(); }
  });
  line.classList.add("under-edit");
  line.querySelector(".body").append(form);
  area.focus();
  form.scrollIntoView({ block: "nearest" });
}

// ── composers ──────────────────────────────────────────────────────────────

function compose(form) {
  const area = form.querySelector("textarea"), menu = form.querySelector(".suggest"), label = form.querySelector(".file"), inThread = form.dataset.pane === "thread";
  let file = "", chosen = 0;
  const grow = () => { area.style.height = "auto"; area.style.height = Math.min(area.scrollHeight, 160) + "px"; };
  const attach = name => {
    file = name;
    if (!label) return;
    label.hidden = !name;
    label.textContent = name;
    form.querySelector("[data-do=file]").setAttribute("aria-pressed", String(!!name));
  };
  const word = () => /(^|\s)@([\p{L}\p{N}._-]*)$/u.exec(area.value.slice(0, area.selectionStart));
  const insert = text => {
    const start = area.selectionStart, w = word();
    const from = w && !menu.hidden ? start - w[2].length - 1 : start;
    let before = area.value.slice(0, from);
    if (before && !/\s$/.test(before)) before += " ";
    before += text + " ";
    area.value = before + area.value.slice(area.selectionEnd);
    area.selectionStart = area.selectionEnd = before.length;
    menu.hidden = true;
    area.focus();
    grow();
  };
  const suggest = () => {
    const w = word(), found = w ? [...state.users.values()].filter(u => u.id !== state.me && u.name.toLowerCase().startsWith(w[2].toLowerCase())) : [];
    chosen = Math.min(chosen, Math.max(0, found.length - 1));
    menu.hidden = !found.length;
    menu.replaceChildren(...found.map((u, i) => el("li", { role: "option", "aria-selected": String(i === chosen), onmousedown: e => { e.preventDefault(); insert("@" + u.name); } }, avatar(u.id, u.is_bot), u.name)));
  };
  const send = async () => {
    const text = area.value;
    if (!text.trim() && !file) return;
    if (await post("say", { text, file, thread: inThread ? state.thread : "", broadcast: !!form.elements.broadcast?.checked })) {
      area.value = "";
      attach("");
      if (form.elements.broadcast) form.elements.broadcast.checked = false;
      const list = inThread ? $("replies") : $("messages");
      list.scrollTop = list.scrollHeight;
    }
    grow();
  };
  area.addEventListener("input", () => { chosen = 0; grow(); suggest(); });
  area.addEventListener("blur", () => { menu.hidden = true; });
  area.addEventListener("keydown", e => {
    const options = menu.hidden ? 0 : menu.children.length;
    if (options && (e.key === "ArrowDown" || e.key === "ArrowUp")) { e.preventDefault(); chosen = (chosen + (e.key === "ArrowDown" ? 1 : options - 1)) % options; suggest(); }
    else if (options && (e.key === "Tab" || e.key === "Enter")) { e.preventDefault(); insert("@" + menu.children[chosen].lastChild.textContent); }
    else if (e.key === "Escape") menu.hidden = true;
    else if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); send(); }
  });
  form.addEventListener("submit", e => { e.preventDefault(); send(); });
  form.querySelector("[data-do=mention]").addEventListener("click", () => insert("@" + state.bot.name));
  form.querySelector("[data-do=file]")?.addEventListener("click", () => { attach(file ? "" : "cat.png"); area.focus(); });
}

document.querySelectorAll(".composer").forEach(compose);
$("close").addEventListener("click", () => { state.thread = null; drawMessages(); $("text-main").focus(); });
take(JSON.parse($("state").textContent));
listen();
