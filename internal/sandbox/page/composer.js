// The message fields, one in each pane.
import { avatar } from "./icons.js";
import { editLast, scrollToEnd } from "./messages.js";
import { el } from "./render.js";
import { $, act, navigate, currentChannel, names, on, people, state, title } from "./state.js";

function compose(form) {
  const area = form.querySelector("textarea"), menu = form.querySelector(".suggest"), file = form.querySelector(".file");
  const button = what => form.querySelector(`[data-do=${what}]`);
  const inThread = form.dataset.pane === "thread";
  const list = inThread ? $("replies") : $("messages");
  let chosen = 0;

  const grow = () => { area.style.height = "auto"; area.style.height = Math.min(area.scrollHeight, 160) + "px"; };
  const attach = on => {
    if (!file) return;
    file.hidden = !on;
    button("file").setAttribute("aria-pressed", String(on));
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
    drafts.set(at, area.value);
    at = place();
    area.value = drafts.get(at) || "";
    if (form.elements.broadcast) form.elements.broadcast.checked = false;
    attach(false);
    close();
    grow();
  });

  // ── sending ──
  let sending = false;
  const send = async () => {
    const text = area.value, name = file && !file.hidden ? file.value.trim() : "";
    if (sending || !text.trim() && !name) return;
    sending = true;
    const from = at;
    const done = await act("say", { text, file: name, thread: inThread ? state.thread : "", broadcast: !!form.elements.broadcast?.checked });
    sending = false;
    if (from !== at) { // another channel or thread is open by now
      if (done) drafts.delete(from);
      return;
    }
    if (done) {
      area.value = area.value.startsWith(text) ? area.value.slice(text.length) : area.value; // keep what was typed meanwhile
      attach(false);
      if (form.elements.broadcast) form.elements.broadcast.checked = false;
      scrollToEnd(list);
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
    else if (e.key === "ArrowUp" && !area.value) { e.preventDefault(); editLast(list); }
  });
  form.addEventListener("submit", e => { e.preventDefault(); send(); });
  button("mention").addEventListener("click", () => insert("@" + state.bot.name));
  button("person").addEventListener("click", () => { nextPerson(); area.focus(); });
  button("file")?.addEventListener("click", () => {
    attach(file.hidden);
    if (file.hidden) area.focus(); else { file.focus(); file.select(); }
  });
  file?.addEventListener("keydown", e => {
    if (e.key === "Enter") { e.preventDefault(); send(); }
    if (e.key === "Escape") { e.preventDefault(); e.stopPropagation(); attach(false); area.focus(); }
  });
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
}

document.querySelectorAll(".composer").forEach(compose);
on("place", draw);
on("chat", draw);
