// The tickets of the sandbox's ticket desk, which the bot reaches by MCP.
import { clock } from "./clock.js";
import { showRows } from "./list.js";
import { mind } from "./mind.js";
import { el } from "./render.js";
import { $, on, state } from "./state.js";

const ticket = t => el("li", {}, el("p", {}, t.title), el("p", { class: "facts" }, el("span", {}, `ticket ${t.number}`), el("time", { datetime: t.at }, clock(t.at))));

function draw() {
  const tickets = mind.latest?.tickets;
  $("mind-tickets").closest("section").hidden = !tickets;
  const rows = (tickets || []).map(t => ({ key: t.number, version: "", make: () => ticket(t) })).reverse();
  const none = { key: "none", version: state.bot.name, make: () => el("li", { class: "none" }, `None. “@${state.bot.name} open a ticket for …” proposes one, and somebody has to approve it.`) };
  showRows($("mind-tickets"), rows.length ? rows : [none]);
}

on("mind", draw);
on("place", draw);
