// The workspaces, and whether the app is installed in the one that is shown.
import { showRows } from "./list.js";
import { el } from "./render.js";
import { $, on, send, state } from "./state.js";

const link = w => ({ key: w.team, version: w.name, make: () => el("li", {}, el("a", {
  href: w.path, "aria-current": w.team === state.team ? "page" : undefined,
}, el("span", { class: "name" }, w.name))) });

function draw() {
  const { installed } = state, lacks = `${state.bot.name} is not installed in ${state.name}: it hears nothing here, and says nothing.`;
  $("workspaces-part").hidden = state.workspaces.length < 2;
  showRows($("workspaces"), state.workspaces.map(link));
  if ($("absent").hidden !== installed) $("announce").textContent = installed ? `${state.bot.name} is installed now.` : lacks;
  const had = document.activeElement === $("remove");
  $("absent").hidden = installed;
  $("absent-text").textContent = lacks;
  $("install").href = state.install;
  $("remove").hidden = !installed;
  if (had && !installed) $("install").focus();
}

$("remove").addEventListener("click", () => send("uninstall", {}));
on("place", draw);
