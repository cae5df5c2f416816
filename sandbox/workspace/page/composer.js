// The message fields, one in each pane.
import { size } from "./files.js";
import { avatar, icon } from "./icons.js";
import { editLast, scrollToEnd } from "./messages.js";
import { el } from "./render.js";
import { $, act, navigate, currentChannel, names, on, people, problem, state, title } from "./state.js";

const maxAttached = 8 << 20; // bytes of a message's files, as the sandbox limits them

// encoded returns a file as the sandbox takes it.
const encoded = file => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve({ name: file.name, type: file.type, content: reader.result.replace(/^.*?,/, "") });
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

function compose(form) {
  const area = form.querySelector("textarea"), menu = form.querySelector(".suggest"), picker = form.querySelector("[type=file]"), list = form.querySelector(".attached");
  const button = what => form.querySelector(`[data-do=${what}]`);
  const inThread = form.dataset.pane === "thread";
  const shown = inThread ? $("replies") : $("messages");
  let chosen = 0, files = [];

  const grow = () => { area.style.height = "auto"; area.style.height = Math.min(area.scrollHeight, 160) + "px"; };

  // ── files ──
  const drawFiles = () => {
    list.hidden = !files.length;
    list.replaceChildren(...files.map(f => el("li", {}, icon(f.type.startsWith("image/") ? "image" : "page"), el("span", {}, f.name), el("small", {}, size(f.size)),
      el("button", { type: "button", "aria-label": `Do not attach ${f.name}`, onclick: () => {
        const at = files.indexOf(f);
        files = files.filter(other => other !== f);
        drawFiles();
        (list.children[Math.min(at, files.length - 1)]?.querySelector("button") || area).focus();
      } }, icon("dropped")))));
  };
  const attach = added => {
    const all = [...files, ...added];
    const empty = all.find(f => !f.size);
    if (empty) { problem(`“${empty.name}” is empty, or a folder. Attach a file with content.`); return; }
    if (all.reduce((sum, f) => sum + f.size, 0) > maxAttached) { problem("The files have more than 8 MiB. Attach smaller ones."); return; }
    files = all;
    drawFiles();
    area.focus();
  };

  // ── mentions ──
  const word = () => /(^|[^\w.+-])@([\p{L}\p{N}._-]*)$/u.exec(area.value.slice(0, area.selectionStart));
  const close = () => {
    menu.hidden = true;
    menu.replaceChildren();
    area.removeAttribute("aria-activedescendant");
  };
  const insert = text => {
    const start = area.selectionStart, w = word();
    let before = area.value.slice(0, w && !menu.hidden ? start - w[2].length - 1 : start);
    if (before && !/\s$/.test(before)) before += " ";
    before += text + " ";
    area.value = before + area.value.slice(area.selectionEnd);
    area.selectionStart = area.selectionEnd = before.length;
    close();
    area.focus();
    grow();
  };
  const suggest = () => {
    const w = word(), found = w ? [...state.users.values()].filter(u => u.id !== state.me && u.name.toLowerCase().startsWith(w[2].toLowerCase())) : [];
    if (!found.length) { close(); return; }
    chosen = Math.min(chosen, found.length - 1);
    menu.replaceChildren(...found.map((u, i) => el("li", {
      id: menu.id + "-" + i, role: "option", "aria-selected": String(i === chosen), dataset: { name: u.name },
      onmousedown: e => { e.preventDefault(); insert("@" + u.name); },
    }, avatar(u.id), u.name)));
    menu.hidden = false;
    area.setAttribute("aria-activedescendant", menu.id + "-" + chosen);
  };

  // ── drafts: a draft belongs to its channel or thread ──
  const drafts = new Map();
  const place = () => state.channel + (inThread ? "/" + state.thread : "");
  let at = place();
  on("place", () => {
    if (at === place()) return;
    drafts.set(at, { text: area.value, files });
    at = place();
    ({ text: area.value, files } = drafts.get(at) || { text: "", files: [] });
    if (form.elements.broadcast) form.elements.broadcast.checked = false;
    drawFiles();
    close();
    grow();
  });

  // ── sending ──
  let sending = false;
  const send = async () => {
    const text = area.value, sent = files;
    if (sending || !text.trim() && !sent.length) return;
    sending = true;
    const from = at, to = { channel: state.channel, user: state.me, thread: inThread ? state.thread : "", broadcast: !!form.elements.broadcast?.checked };
    let done = false;
    try {
      done = await act("say", { ...to, text, files: await Promise.all(sent.map(encoded)) });
    } catch {
      problem("A file can no longer be read. Attach it again.");
    }
    sending = false;
    if (from !== at) { // another channel or thread is open by now
      if (done) drafts.delete(from);
      return;
    }
    if (done) {
      area.value = area.value.startsWith(text) ? area.value.slice(text.length) : area.value; // keep what was typed meanwhile
      files = files.filter(f => !sent.includes(f));
      drawFiles();
      if (form.elements.broadcast) form.elements.broadcast.checked = false;
      scrollToEnd(shown);
    }
    grow();
    area.focus();
  };

  area.addEventListener("input", () => { chosen = 0; grow(); suggest(); });
  area.addEventListener("blur", close);
  area.addEventListener("keydown", e => {
    const options = menu.hidden || e.shiftKey ? 0 : menu.children.length;
    if (options && (e.key === "ArrowDown" || e.key === "ArrowUp")) { e.preventDefault(); chosen = (chosen + (e.key === "ArrowDown" ? 1 : options - 1)) % options; suggest(); }
    else if (options && (e.key === "Tab" || e.key === "Enter")) { e.preventDefault(); insert("@" + menu.children[chosen].dataset.name); }
    else if (options && e.key === "Escape") { e.preventDefault(); close(); }
    else if (e.key === "Enter" && !e.shiftKey) { e.preventDefault(); send(); }
    else if (e.key === "ArrowUp" && !area.value) { e.preventDefault(); editLast(shown); }
  });
  form.addEventListener("submit", e => { e.preventDefault(); send(); });
  button("mention").addEventListener("click", () => insert("@" + state.bot.name));
  button("person").addEventListener("click", () => { nextPerson(); area.focus(); });
  button("file").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    attach(picker.files);
    picker.value = ""; // the same file can be chosen again
  });
  area.addEventListener("paste", e => {
    if (!e.clipboardData.files.length) return;
    e.preventDefault();
    attach(e.clipboardData.files);
  });
  // Files may be dropped anywhere on the pane.
  const pane = form.closest(".pane"), carries = e => e.dataTransfer.types.includes("Files");
  pane.addEventListener("dragover", e => {
    if (!carries(e)) return;
    e.preventDefault();
    pane.classList.add("dropping");
  });
  pane.addEventListener("dragleave", e => { if (!pane.contains(e.relatedTarget)) pane.classList.remove("dropping"); });
  pane.addEventListener("drop", e => {
    pane.classList.remove("dropping");
    if (!carries(e)) return;
    e.preventDefault();
    attach(e.dataTransfer.files);
  });
}

// A file dropped beside the panes must not replace the page.
for (const kind of ["dragover", "drop"]) document.addEventListener(kind, e => { if (e.dataTransfer.types.includes("Files")) e.preventDefault(); });

// focusComposer moves the focus to the message field that is shown, or to the Home tab.
export function focusComposer() {
  [$("text-main"), $("text-thread"), $("home")].find(area => area.offsetParent)?.focus();
}

// keepFocus moves the focus on from a field that another place has hidden: on a narrow screen a
// thread replaces its channel.
function keepFocus() {
  const focused = document.activeElement;
  if (focused?.matches(".composer textarea, #home") && !focused.offsetParent) focusComposer();
}

function nextPerson() {
  const all = people(), at = all.findIndex(u => u.id === state.me);
  navigate({ me: all[(at + 1) % all.length].id });
}

function draw() {
  if (!currentChannel()) return;
  $("text-main").placeholder = `Message ${title(currentChannel())} as ${names.user(state.me)}`;
  $("text-thread").placeholder = `Reply as ${names.user(state.me)}`;
  for (const b of document.querySelectorAll("[data-do=mention]")) b.textContent = "@" + state.bot.name;
  for (const b of document.querySelectorAll("[data-do=person]")) {
    b.replaceChildren(avatar(state.me), el("span", {}, el("span", { class: "sr" }, "Writing as "), names.user(state.me)));
    b.title = "Write as the next person (Alt+1, Alt+2 …)";
  }
  queueMicrotask(keepFocus);
}

document.querySelectorAll(".composer").forEach(compose);
on("place", draw);
on("chat", draw);
