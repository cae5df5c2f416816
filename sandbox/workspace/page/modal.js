// A modal that the bot opens for whoever writes: its title, its fields, and two buttons.
import { el } from "./render.js";
import { $, act } from "./state.js";

const dialog = $("modal");
let open = null;

// expected is set from the use of a button on: the modal that it opens is shown in this tab alone.
let expected = false;
export const expectModal = () => { expected = true; };

export function openModal(modal) {
  if (!expected) return;
  expected = false;
  const fields = modal.view.blocks.filter(b => b.type === "input" && ["plain_text_input", "static_select"].includes(b.element?.type));
  open = { id: modal.id, fields };
  $("modal-title").textContent = modal.view.title.text;
  $("modal-fields").replaceChildren(...fields.map((b, i) => el("label", {},
    el("span", {}, b.label.text, b.optional && el("small", {}, " (optional)")),
    field(b, "modal-field-" + i), b.hint && el("small", {}, b.hint.text))));
  $("modal-submit").textContent = modal.view.submit?.text || "Submit";
  $("modal-skip").textContent = modal.view.close?.text || "Cancel";
  if (!dialog.open) dialog.showModal();
}

function field(b, id) {
  const e = b.element;
  if (e.type === "plain_text_input") return el("textarea", { rows: e.multiline ? 3 : 1, maxlength: e.max_length, required: !b.optional, id }, e.initial_value || "");
  return el("select", { id }, ...e.options.map(o => el("option", { value: o.value, selected: o.value === e.initial_option?.value }, o.text.text)));
}

$("modal-form").addEventListener("submit", async e => {
  e.preventDefault();
  const values = {};
  open.fields.forEach((b, i) => { (values[b.block_id] ||= {})[b.element.action_id] = $("modal-field-" + i).value.trim(); });
  if (await act("submit", { name: open.id, values })) {
    open = null;
    dialog.close();
  }
});
$("modal-skip").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  if (open) act("submit", { name: open.id }); // closed without an answer
  open = null;
});
