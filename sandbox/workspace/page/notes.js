// What people asked the bot to remember in the open channel.
import { clock } from "./clock.js";
import { showRows } from "./list.js";
import { mind } from "./mind.js";
import { el } from "./render.js";
import { $, act, names, on, state } from "./state.js";

const note = n => el("li", {},
  el("p", {}, n.text),
  el("p", { class: "facts" }, el("span", {}, `note ${n.id}, by ${names.user(n.author)}`), el("time", { datetime: n.noted_at }, clock(n.noted_at)),
    el("button", { type: "button", class: "small", "aria-label": `Take back note ${n.id}`, onclick: e => takeBack(e.currentTarget, n.id) }, "Take back")));

// takeBack leaves the note in the list until the next event, which lacks it.
async function takeBack(button, id) {
  if (button.hasAttribute("aria-disabled")) return;
  button.setAttribute("aria-disabled", "true");
  if (!await act("mind/forget-note", { id })) button.removeAttribute("aria-disabled");
}

function draw() {
  const rows = (mind.latest?.notes || []).map(n => ({ key: n.id, version: JSON.stringify([n, state.people]), make: () => note(n) }));
  const none = { key: "none", version: state.bot.name, make: () => el("li", { class: "none" }, `None. “@${state.bot.name} remember that …” makes one; it is then part of every prompt here.`) };
  showRows($("mind-notes"), rows.length ? rows : [none]);
}

on("mind", draw);
on("place", draw);
