// The tour's hands and eyes: a guide acts through the same API as a visitor, and looks on.
import { faultsOn, setFault, setWorker } from "./bar.js";
import { drawer } from "./drawers.js";
import { follow, mind, of } from "./mind.js";
import { el } from "./render.js";
import { $, go, on, send, state } from "./state.js";

// Otherwise is thrown by a step in which the bot did something else than what was to be shown.
export class Otherwise extends Error {}

// guide is what a step is told with, until the signal ends it.
export function guide(signal) {
  const g = {
    channel: null,
    people: [],

    // beat marks the next thing that happened, look lights up where to see it, and tell says
    // more about it. The panel may be another step's already.
    beat() {
      signal.throwIfAborted();
      const next = $("tour-beats").querySelector("li:not(.done)");
      next?.classList.add("done");
      next?.append(el("span", { class: "sr" }, ": done"));
    },
    look(...where) {
      signal.throwIfAborted();
      light(where);
    },
    tell(text) {
      signal.throwIfAborted();
      $("tour-text").textContent = text;
    },

    // until waits until look returns something, and returns that.
    until(what, seconds, look) {
      return new Promise((resolve, reject) => {
        const end = f => { off.forEach(o => o()); clearInterval(again); clearTimeout(late); signal.removeEventListener("abort", stop); f(); };
        const stop = () => end(() => reject(signal.reason));
        const check = () => { const got = look(); if (got) end(() => resolve(got)); };
        const off = [on("mind", check), on("chat", check)];
        const again = setInterval(check, 200);
        const late = setTimeout(() => end(() => reject(new Otherwise(`For ${seconds} s this did not happen: ${what}.`))), seconds * 1000);
        signal.addEventListener("abort", stop);
        if (signal.aborted) stop(); else check();
      });
    },

    // say has a person say something and returns its ts, once it is there.
    async say(person, text, thread = "") {
      const messages = () => [...state.channels.get(g.channel).messages.values()];
      const before = messages().reduce((newest, m) => newest > m.ts ? newest : m.ts, "");
      const refused = await send("say", { channel: g.channel, user: person.id, text, thread });
      if (refused) throw new Otherwise("The message was refused: " + refused);
      return g.until("the message appears in the channel", 10, () => messages().find(m => m.ts > before && m.user === person.id)?.ts);
    },

    // Where the conversation stands, if what is known is of this one.
    stands: (thread = null) => of(g.channel, thread) ? mind.latest.state : null,
    worker: () => mind.connected && mind.latest?.worker,
    // The newest decision about a message, be it along with others.
    decision(ts) {
      const all = (mind.latest?.story?.entries || []).map(e => e.decision).filter(Boolean);
      return all.findLast(d => d.trigger === ts) || all.findLast(d => d.with?.includes(ts));
    },
    waits: ts => (mind.latest?.state?.pending || []).some(p => p.ts === ts),
    memories: () => mind.latest?.memories || [],

    killed: false, // and not started again
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

// prepare brings about what every step begins with: the channel open, everything in order, nothing pending.
export async function prepare(g) {
  const channels = [...state.channels.values()].filter(c => c.kind !== "im");
  const channel = channels.find(c => c.name === "general") || channels[0];
  if (!channel) throw new Otherwise("There is no channel to show it in.");
  g.channel = channel.id;
  const able = channel.members.map(id => state.users.get(id)).filter(u => u && !u.is_bot);
  g.people = [0, 1, 2].map(i => able[i % able.length]);
  go({ channel: channel.id, thread: null, ...(!channel.members.includes(state.me) && { me: able[0].id }) });
  follow();
  for (const name of faultsOn()) await setFault(name, false);
  await g.until("the bot's mind can be seen", 20, () => of(g.channel, null) && mind.connected);
  await g.start();
  if (Date.parse(mind.latest.silenced_until || 0) > Date.parse(mind.latest.now)) {
    await send("mind/order", { channel: g.channel, thread: "", user: g.people[0].id, order: "unmute", seconds: 0 });
  }
  const busy = () => g.stands() && g.stands().phase !== "idle";
  if (busy()) g.tell("Something waits in this channel. As soon as that is over, it begins …");
  await g.until("the conversation comes to rest", 90, () => g.stands()?.phase === "idle");
}

// light shows where to look, and nothing else; in a drawer, it opens that.
export function light(where) {
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
