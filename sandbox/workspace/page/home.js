// The Home tab of the bot, as the writer sees it.
import { showRows } from "./list.js";
import { expectModal } from "./modal.js";
import { blocks, el } from "./render.js";
import { $, names, navigate, on, send, state } from "./state.js";

function draw() {
  const main = document.querySelector("main");
  main.classList.toggle("at-home", state.home);
  $("home").hidden = !state.home;
  if (state.home) $("open-home").setAttribute("aria-current", "page");
  else $("open-home").removeAttribute("aria-current");
  if (!state.home) return;
  $("title").textContent = "Home";
  $("members").textContent = `What ${state.bot.name} shows to ${names.user(state.me)} alone`;
  const all = state.homes.get(state.me) || [{ type: "section", text: { type: "mrkdwn", text: "Nothing has been published yet." } }];
  showRows($("home"), all.map((b, i) => ({
    key: b.elements?.[0]?.value ? "buttons " + b.elements[0].value : `${state.me} ${i}`, // the buttons of a channel keep the focus
    version: JSON.stringify([b, state.people]), make: () => blocks([b], names, press)[0] || el("div"),
  })));
}

async function press(button, node) {
  if (node.hasAttribute("aria-disabled")) return;
  node.setAttribute("aria-disabled", "true");
  expectModal();
  await send("homeclick", { user: state.me, name: button.action_id, value: button.value || "" });
  node.removeAttribute("aria-disabled");
}

$("open-home").addEventListener("click", () => {
  navigate({ home: true, thread: null });
  send("home", { user: state.me });
  $("home").focus();
});

on("place", draw);
on("chat", draw);
