// The dialog that shows what a model was sent for a decision, and what it answered.
import { clock } from "./clock.js";
import { el } from "./render.js";
import { $ } from "./state.js";

const dialog = $("prompt");
let calls = [];

export async function showPrompt(decision, when) {
  const own = calls = [];
  dialog.dataset.decision = decision.key;
  $("prompt-of").textContent = "for the decision of " + clock(when);
  $("prompt-tabs").replaceChildren();
  $("prompt-text").replaceChildren(el("p", { class: "none" }, "Loading …"));
  dialog.showModal();
  try {
    const answer = await fetch("sandbox/mind/prompts?" + new URLSearchParams({ decision: decision.key }));
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const all = await answer.json();
    if (own !== calls) return; // another prompt is open by now
    calls = all;
  } catch (e) {
    if (own !== calls) return;
    $("prompt-text").replaceChildren(el("p", { class: "none" }, "The prompt could not be loaded: " + e.message));
    return;
  }
  if (!calls.length) {
    $("prompt-text").replaceChildren(el("p", { class: "none" }, "The prompt is gone: only the newest prompts are kept, in memory, while the sandbox runs."));
    return;
  }
  $("prompt-tabs").replaceChildren(...calls.map((c, i) => el("button", {
    type: "button", role: "tab", id: "prompt-tab-" + i, "aria-controls": "prompt-text", onclick: () => choose(i),
  }, el("b", {}, c.purpose || "call"), " " + (c.model || ""), c.error && el("span", { class: "failed" }, " failed"))));
  choose(0);
}

function choose(i) {
  const c = calls[i];
  [...$("prompt-tabs").children].forEach((tab, j) => {
    tab.setAttribute("aria-selected", String(i === j));
    tab.tabIndex = i === j ? 0 : -1;
  });
  const part = (name, text) => text && el("section", {},
    el("div", { class: "title" }, el("h3", {}, name), el("span", { class: "soft" }, text.length.toLocaleString("en") + " characters"),
      el("button", { type: "button", class: "small", "aria-label": "Copy: " + name, onclick: e => copy(e.currentTarget, text) }, "Copy")),
    el("pre", {}, text));
  $("prompt-text").setAttribute("role", "tabpanel");
  $("prompt-text").setAttribute("aria-labelledby", "prompt-tab-" + i);
  $("prompt-text").replaceChildren(...[
    el("p", { class: "soft" }, "asked at " + clock(c.at)),
    c.error && el("p", { class: "failed" }, c.error),
    part("System", c.system), part("Prompt", c.prompt), part("Looked up before", c.looked_up), part("Tools", c.tools), part("Answer", pretty(c.answer)),
  ].filter(Boolean));
  $("prompt-text").scrollTop = 0;
}

// pretty indents an answer that is JSON.
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function copy(button, text) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = false;
    getSelection().selectAllChildren(button.closest("section").querySelector("pre"));
  }
  button.textContent = done ? "Copied" : "Selected";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

$("prompt-tabs").addEventListener("keydown", e => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!step || !calls.length) return;
  e.preventDefault();
  const at = [...e.currentTarget.children].indexOf(document.activeElement);
  const next = (at + step + calls.length) % calls.length;
  choose(next);
  e.currentTarget.children[next].focus();
});
$("close-prompt").addEventListener("click", () => dialog.close());
// Return the focus to the button that opened the dialog. It may have been redrawn meanwhile.
dialog.addEventListener("close", () => {
  if (document.activeElement !== document.body && !dialog.contains(document.activeElement)) return;
  document.querySelector(`button.prompt[data-decision="${CSS.escape(dialog.dataset.decision)}"]`)?.focus({ preventScroll: true });
});
dialog.addEventListener("click", e => { if (e.target === dialog) dialog.close(); }); // a click on the backdrop
