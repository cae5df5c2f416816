// What the steps of the tour work with. A guide uses the same API as a visitor.
import { faultsOn, setFault, setWorker } from "./bar.js";
import { drawer } from "./drawers.js";
import { follow, isAbout, mind } from "./mind.js";
import { el } from "./render.js";
import { $, navigate, on, send, state } from "./state.js";

// Unexpected is thrown by a step when the bot does not do what the step wants to show.
export class Unexpected extends Error {}

// guide returns the functions of a step. After signal aborts, they throw.
export function guide(signal) {
  const g = {
    channel: null,
    people: [],

    // beat marks the step's next beat as done, highlight marks where to look, and explain
    // replaces the text. They throw once another step uses the panel.
    beat() {
      signal.throwIfAborted();
      const next = $("tour-beats").querySelector("li:not(.done)");
      next?.classList.add("done");
      next?.append(el("span", { class: "sr" }, ": done"));
    },
    highlight(...where) {
      signal.throwIfAborted();
      highlight(where);
    },
    explain(text) {
      signal.throwIfAborted();
      $("tour-text").textContent = text;
    },

    // pause leaves time to read and to look.
    pause: seconds => new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1000);
      signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); });
    }),

    // until waits until get returns a value and returns it.
    until(what, seconds, get) {
      return new Promise((resolve, reject) => {
        const end = f => { off.forEach(o => o()); clearInterval(again); clearTimeout(late); signal.removeEventListener("abort", stop); f(); };
        const stop = () => end(() => reject(signal.reason));
        const check = () => { const got = get(); if (got) end(() => resolve(got)); };
        const off = [on("mind", check), on("chat", check)];
        const again = setInterval(check, 200);
        const late = setTimeout(() => end(() => reject(new Unexpected(`For ${seconds} s this did not happen: ${what}.`))), seconds * 1000);
        signal.addEventListener("abort", stop);
        if (signal.aborted) stop(); else check();
      });
    },

    // say posts a person's message and returns its ts once the page shows it.
    async say(person, text, thread = "") {
      const messages = () => [...state.channels.get(g.channel).messages.values()];
      const before = messages().reduce((newest, m) => newest > m.ts ? newest : m.ts, "");
      const refused = await send("say", { channel: g.channel, user: person.id, text, thread });
      if (refused) throw new Unexpected("The message was refused: " + refused);
      return g.until("the message appears in the channel", 10, () => messages().find(m => m.ts > before && m.user === person.id)?.ts);
    },

    // The state of the conversation, or null if the mind shows another one.
    state: (thread = null) => isAbout(g.channel, thread) ? mind.latest.state : null,
    worker: () => mind.connected && mind.latest?.worker,
    // The newest decision about a message, alone or together with others.
    decision(ts) {
      const all = (mind.latest?.story?.entries || []).map(e => e.decision).filter(Boolean);
      return all.findLast(d => d.trigger_ts === ts) || all.findLast(d => d.with?.includes(ts));
    },
    // Whether the open conversation's message ts can be found by a search.
    isIndexed: ts => isAbout(g.channel, null) && !mind.latest.unindexed && (mind.latest.story?.entries || []).some(e => e.message?.ts === ts),
    isPending: ts => (mind.latest?.state?.pending || []).some(p => p.ts === ts),
    memories: () => mind.latest?.memories || [],
    promises: () => mind.latest?.promises || [],
    tickets: () => mind.latest?.tickets || [],
    // approve presses a proposal's button as a person.
    async approve(person, message, button) {
      const refused = await send("click", { channel: g.channel, user: person.id, ts: message.ts, name: button.action_id, value: button.value });
      if (refused) throw new Unexpected("The click was refused: " + refused);
    },

    // home opens the bot's Home tab and leaves the focus where it is.
    home() {
      navigate({ home: true, thread: null });
      return send("home", { user: state.me });
    },

    killed: false, // the worker, and not started again yet
    kill() {
      g.killed = true;
      return setWorker("kill");
    },
    async start() {
      if (g.worker() !== "running") await setWorker("start");
      await g.until("the worker runs", 60, () => g.worker() === "running");
      g.killed = false;
    },
    remember: () => send("mind/remember", {}),
  };
  return g;
}

// prepare sets the scene for a step: the channel is open, no fault is on, nothing is pending.
export async function prepare(g) {
  if (!state.installed) throw new Unexpected(`${state.bot.name} is not installed in ${state.name}.`);
  const channels = [...state.channels.values()].filter(c => c.kind !== "im");
  const channel = channels.find(c => c.name === "general") || channels[0];
  if (!channel) throw new Unexpected("There is no channel to show it in.");
  g.channel = channel.id;
  const able = channel.members.map(id => state.users.get(id)).filter(u => u && !u.is_bot);
  g.people = [0, 1, 2].map(i => able[i % able.length]);
  navigate({ channel: channel.id, thread: null, ...(!channel.members.includes(state.me) && { me: able[0].id }) });
  follow();
  for (const name of faultsOn()) await setFault(name, false);
  await g.until("the bot's mind can be seen", 20, () => isAbout(g.channel, null) && mind.connected);
  await g.start();
  if (Date.parse(mind.latest.silenced_until || 0) > Date.parse(mind.latest.now)) {
    await send("mind/order", { channel: g.channel, thread: "", user: g.people[0].id, order: "unmute", seconds: 0 });
  }
  const busy = () => g.state() && g.state().phase !== "idle";
  if (busy()) g.explain("Something waits in this channel. The step begins once that is over …");
  await g.until("the conversation comes to rest", 90, () => g.state()?.phase === "idle");
}

// highlight marks the first elements of some selectors and opens their drawer.
export function highlight(where) {
  for (const old of document.querySelectorAll(".lit")) old.classList.remove("lit");
  const nodes = where.map(w => document.querySelector(w)).filter(Boolean).map(n => n.closest("#mind section") || n);
  if (!nodes.length) return;
  drawer(nodes[0].closest("#mind") ? "mind" : null);
  for (const n of nodes) {
    n.classList.add("lit");
    const pane = n.closest(".scroll")?.getBoundingClientRect(), box = n.getBoundingClientRect();
    if (pane && (box.bottom > pane.bottom || box.top < pane.top)) n.scrollIntoView({ block: "start" });
  }
}
