// Turns Slack's mrkdwn into DOM nodes. Typed text never becomes markup: every leaf is a text
// node, and links use only http, https and mailto.

import { icon } from "./icons.js";

const entities = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
const plain = s => s.replace(/&(?:lt|gt|amp);/g, e => entities[e]);

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "dataset") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter(c => c !== null && c !== undefined && c !== false));
  return node;
}

function link(href, label) {
  const url = plain(href);
  if (!/^(https?:|mailto:)/i.test(url)) return document.createTextNode(plain(label));
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, plain(label));
}

// The inline forms; the earliest match wins. Each makes a node from the groups of its match.
const forms = [
  [/`([^`\n]+)`/, (_, m) => el("code", {}, plain(m[1]))],
  [/<@([A-Z0-9]+)(?:\|[^>]*)?>/, (names, m) => el("span", { class: "mention" + (names.me(m[1]) ? " own" : "") }, "@" + names.user(m[1]))],
  [/<#([A-Z0-9]+)(?:\|([^>]*))?>/, (names, m) => el("span", { class: "mention" }, "#" + names.channel(m[1], m[2]))],
  [/<!date\^[^|>]*\|([^>]*)>/, (_, m) => document.createTextNode(plain(m[1]))],
  [/<!([a-z]+)[^>]*>/, (_, m) => el("span", { class: "mention" }, "@" + m[1])],
  [/<((?:https?:|mailto:)[^|>]+)(?:\|([^>]*))?>/, (_, m) => link(m[1], m[2] || m[1])],
  [/\[((?:\[[^[\]\n]*\]|[^[\]\n])+)\]\((https?:[^)\s]+)\)/, (_, m) => link(m[2], m[1])],
  [/\*\*([^*\n]+)\*\*/, (names, m) => el("strong", {}, ...inline(m[1], names))],
  [/(?<![\w*])\*([^*\s](?:[^*\n]*[^*\s])?)\*(?![\w*])/, (names, m) => el("strong", {}, ...inline(m[1], names))],
  [/(?<!\w)_([^_\s](?:[^_\n]*[^_\s])?)_(?!\w)/, (names, m) => el("em", {}, ...inline(m[1], names))],
  [/(?<!\w)~([^~\n]+)~(?!\w)/, (names, m) => el("s", {}, ...inline(m[1], names))],
];

function inline(text, names) {
  const out = [];
  while (text) {
    let best = null, make = null;
    for (const [pattern, how] of forms) {
      const m = pattern.exec(text);
      if (m && (!best || m.index < best.index)) [best, make] = [m, how];
    }
    if (!best) { out.push(plain(text)); break; }
    if (best.index) out.push(plain(text.slice(0, best.index)));
    out.push(make(names, best));
    text = text.slice(best.index + best[0].length);
  }
  return out;
}

export function rich(text, names) {
  const box = el("div", { class: "text" });
  text.split(/```(?:[a-z]*\n)?([\s\S]*?)```/).forEach((part, i) => {
    if (i % 2) { box.append(el("pre", {}, plain(part.replace(/\n$/, "")))); return; }
    const lines = part.replace(/^\n|\n$/g, "").split("\n");
    if (lines.length === 1 && !lines[0]) return;
    for (const line of lines) {
      const heading = /^#{1,6} (.*)/.exec(line), item = /^\s*[-*•] (.*)/.exec(line), quote = /^&gt; ?(.*)/.exec(line);
      if (heading) box.append(el("p", { class: "heading" }, ...inline(heading[1], names)));
      else if (item) box.append(el("p", { class: "item" }, ...inline(item[1], names)));
      else if (quote) box.append(el("blockquote", {}, ...inline(quote[1], names)));
      else box.append(el("p", {}, ...inline(line, names)));
    }
  });
  return box;
}

// body returns the nodes of a message: the blocks of the bot's, else the text. press is called for a
// button of the blocks, with its node.
export function body(message, names, press) {
  const blocks = message.bot_id && Array.isArray(message.blocks) ? message.blocks.map(b => block(b, names, press)).filter(Boolean) : [];
  return blocks.length ? blocks : [rich(message.text || "", names)];
}

// blocks returns the nodes of a view's blocks.
export const blocks = (all, names, press) => all.map(b => block(b, names, press)).filter(Boolean);

function block(b, names, press) {
  const elements = b?.elements || [];
  switch (b?.type) {
    case "header": return el("h2", {}, b.text?.text || "");
    case "markdown": return rich(b.text || "", names);
    case "section": return b.text?.type === "plain_text" ? el("div", { class: "proposed" }, b.text.text) : rich(b.text?.text || "", names);
    case "context": return el("div", { class: "context" }, ...elements.map(e => rich(e.text || "", names)));
    case "actions": return el("div", { class: "actions" }, ...elements.filter(e => e.type === "button").map(e => el("button", {
      type: "button", class: e.style, onclick: click => press(e, click.currentTarget),
    }, e.text?.text || "")));
    case "context_actions": return el("div", { class: "actions rating" }, ...elements.filter(e => e.type === "feedback_buttons").flatMap(e =>
      ["positive_button", "negative_button"].map(which => el("button", {
        type: "button", dataset: { vote: e[which].value }, "aria-pressed": "false", title: e[which].text.text, "aria-label": e[which].accessibility_label || e[which].text.text,
        onclick: click => press({ action_id: e.action_id, value: e[which].value }, click.currentTarget),
      }, icon("thumb")))));
  }
  return null;
}

// source returns a message's markdown blocks if it has some, else its text.
export function source(message) {
  const blocks = (message.blocks || []).filter(b => b && b.type === "markdown" && typeof b.text === "string");
  return blocks.length ? blocks.map(b => b.text).join("\n\n") : message.text || "";
}

// editable returns a message as its author would type it.
export function editable(text, names) {
  return plain(text.replace(/<@([A-Z0-9]+)(?:\|[^>]*)?>/g, (_, id) => "@" + names.user(id))
    .replace(/<#([A-Z0-9]+)(?:\|([^>]*))?>/g, (_, id, label) => "#" + names.channel(id, label))
    .replace(/<((?:https?:|mailto:)[^|>]+)(?:\|[^>]*)?>/g, "$1"));
}
