// The files of a message: a picture, the beginning of a text, or a name to download by.
import { icon } from "./icons.js";
import { el } from "./render.js";

// size returns a number of bytes in words.
export const size = n => n < 1024 ? `${n} B` : n < 1 << 20 ? `${Math.round(n / 1024)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`;

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function attachment(f) {
  if (f.mode === "tombstone") return el("div", { class: "attachment" }, icon("dropped"), el("span", {}, "This file was deleted."));
  const picture = pictures.includes(f.mimetype) && el("img", { src: address(f), alt: "" });
  const sign = icon(picture ? "image" : "page");
  picture?.addEventListener?.("error", () => picture.remove()); // its content is something else
  const name = el("a", { class: "attachment", href: address(f), target: "_blank", rel: "noopener" }, sign, el("span", {}, f.name), el("small", {}, `${f.mimetype}, ${size(f.size || 0)}`));
  const said = f.transcription?.preview, text = f.preview || said?.content;
  const inside = picture || text && el("pre", {}, text.replace(/\n$/, "") + (f.preview_is_truncated || said?.has_more ? "\n…" : ""));
  return inside ? el("div", { class: "shared" }, name, inside) : name;
}

const address = f => "sandbox/file?" + new URLSearchParams({ id: f.id });
