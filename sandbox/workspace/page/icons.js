// Drawn shapes, avatars, and emoji if there is a font for them.
import { el } from "./render.js";
import { names, state } from "./state.js";

const shapes = {
  lock: "M5 7V5a3 3 0 0 1 6 0v2M3.5 7h9v6.5h-9z",
  image: "M2 3h12v10H2zM2 11l3.5-4 3 3 2-2 3.5 3M10.8 5.6h.1",
  page: "M4 2h5l3 3v9H4zM9 2v3h3M6 8h4M6 10.5h4",
  posted: "M3.5 8.5l3 3 6-7",
  silent: "M4 8h8",
  withdrawn: "M6.5 4.5L3 8l3.5 3.5M3.5 8H10a3 3 0 0 1 0 6",
  dropped: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  overruled: "M4 4l4 4-4 4M8.5 4l4 4-4 4",
  failed: "M8 3.5v5.5M8 12v.1",
  pending: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M8 5v3l2 1.5",
  order: "M5 13V3.5M5 4h7l-2 2.5L12 9H5",
  thumb: "M5.5 7l2-4.5c1 0 1.8.6 1.6 1.7L8.7 6.5h3.6c.9 0 1.4.8 1.2 1.6l-1.1 4.3c-.2.7-.6 1.1-1.4 1.1H5.5zM2.5 7h3v6.5h-3z",
  thread: "M3 3v5.5a2 2 0 0 0 2 2h7.5M10 8l2.5 2.5L10 13",
};

const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// icon draws a shape by its name. Each outcome of a decision has one.
export const icon = name => svg("svg", { viewBox: "0 0 16 16", class: "shape", "aria-hidden": "true" }, svg("path", { d: shapes[name] || shapes.pending }));

// mark is the bot's logo: a ring around a pupil. The countdown's dial looks the same.
export const mark = () => svg("svg", { viewBox: "0 0 24 24", class: "mark", "aria-hidden": "true" }, svg("circle", { cx: 12, cy: 12, r: 9 }), svg("circle", { cx: 12, cy: 12, r: 3.5 }));

export function avatar(id, bot) {
  if (bot || id === state.bot.user_id) return el("span", { class: "avatar bot", "aria-hidden": "true" }, mark());
  const name = names.user(id);
  let hue = 0;
  for (const ch of id) hue = (hue * 31 + ch.codePointAt(0)) % 8;
  return el("span", { class: "avatar hue" + hue, "aria-hidden": "true" }, (name[0] || "?").toUpperCase());
}

const emoji = { thumbsup: "👍", "+1": "👍", ok_hand: "👌", eyes: "👀", robot_face: "🤖", heart: "❤️", tada: "🎉", pray: "🙏", bow: "🙇", smile: "😄", white_check_mark: "✅", joy: "😂", wave: "👋", thinking_face: "🤔", x: "❌" };

// hasEmoji is whether there is a font for emoji: a drawn emoji then has coloured pixels.
const hasEmoji = (() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 20, height: 20 }).getContext("2d", { willReadFrequently: true });
  pen.font = "16px sans-serif";
  pen.fillText("🎉", 0, 16);
  const pixels = pen.getImageData(0, 0, 20, 20).data;
  return pixels.some((v, i) => i % 4 < 2 && pixels[i + 3 - i % 4] > 128 && Math.abs(v - pixels[i + 1]) > 20);
})();

export const emojiOrName = name => hasEmoji && emoji[name] || ":" + name + ":";
