// The memories in the prompts of the open conversation.
import { clock } from "./clock.js";
import { showRows } from "./list.js";
import { mind } from "./mind.js";
import { excerpt } from "./quote.js";
import { el } from "./render.js";
import { $, currentChannel, on, send, state, title } from "./state.js";

const terms = { short: "short-term", long: "long-term" };

function scope(m) {
  switch (m.scope) {
    case "workspace": return "The workspace";
    case "thread": return `Thread “${excerpt(m.thread, 30)}”`;
  }
  return m.name ? "#" + m.name : m.channel === state.channel ? title(currentChannel()) : "A channel";
}

const memory = (m, open) => el("details", { open },
  el("summary", {}, el("span", {}, el("b", {}, scope(m)), ", " + (terms[m.term] || m.term)), m.at && el("time", { datetime: m.at }, clock(m.at))),
  ...m.text.split("\n").filter(l => l.trim()).map(l => el("p", { class: /^\s*[-*] /.test(l) ? "item" : undefined }, l.replace(/^\s*[-*] /, ""))));

// nearness sorts the memories of the open conversation first.
const nearness = m => m.scope === "thread" && m.thread === state.thread ? 0 : m.scope === "channel" && m.channel === state.channel ? 1 : ["workspace", "thread", "channel"].indexOf(m.scope) + 2;

// drawMemories shows the memories. At first only the first one is open; later each stays as it was.
function drawMemories(memories) {
  const box = $("mind-memories");
  const sorted = [...memories].sort((a, b) => nearness(a) - nearness(b) || (a.term === "short" ? 0 : 1) - (b.term === "short" ? 0 : 1));
  const rows = sorted.map((m, i) => {
    const key = [m.scope, m.term, m.channel, m.thread].join(" "), had = box.rows?.get(key)?.node;
    return { key, version: JSON.stringify([m, scope(m)]), make: () => memory(m, had ? had.open : i === 0) };
  });
  const none = { key: "none", version: "", make: () => el("p", { class: "none" }, "Nothing yet. Once a minute it summarizes what was said; the summary is then part of its prompts.") };
  showRows(box, rows.length ? rows : [none]);
  box.dataset.version = JSON.stringify(memories);
}

$("remember").addEventListener("click", async e => {
  const button = e.currentTarget;
  if (button.hasAttribute("aria-disabled")) return;
  button.setAttribute("aria-disabled", "true");
  button.textContent = "Remembering …";
  const seen = $("mind-memories").dataset.version;
  const done = () => { off(); clearTimeout(timer); button.removeAttribute("aria-disabled"); button.textContent = "Remember now"; };
  const off = on("mind", () => { if ($("mind-memories").dataset.version !== seen) done(); });
  const timer = setTimeout(done, 15000);
  if (await send("mind/remember", {})) done();
});

const draw = () => drawMemories(mind.latest?.memories || []);
on("mind", draw);
on("place", draw);
