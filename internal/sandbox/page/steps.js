// The steps of the tour. Each posts people's messages through a guide (see guide.js), waits
// for the bot, and returns its closing text or throws Unexpected. The demo model answers
// the questions here with the delays that the steps need.
import { now } from "./clock.js";
import { Unexpected } from "./guide.js";
import { reveal } from "./messages.js";
import { author } from "./quote.js";
import { navigate, isReply, names, state } from "./state.js";

const own = m => !m.for && (m.user === state.bot.user_id || !!m.bot_id);
const messages = () => [...state.channels.get(state.channel)?.messages.values() || []];
const bot = () => "@" + state.bot.name;

// judged waits until a message has been judged. It throws if the verdict is no.
async function judged(g, ts) {
  const d = await g.until("it makes up its mind", 90, () => {
    const d = g.decision(ts);
    return d && (d.confidence !== undefined || d.source !== "judgment" || d.outcome !== "pending") && d;
  });
  if (!d.should_respond && d.outcome !== "withdrawn") throw new Unexpected(`The model decided otherwise, and keeps silent. Its reason: “${d.reason}”`);
  return d;
}

// settled waits for the outcome of a decision.
const settled = (g, ts) => g.until("the reply is posted", 120, () => { const d = g.decision(ts); return d && d.outcome !== "pending" && d; });

function answered(d) {
  if (d.outcome !== "posted") throw new Unexpected(`It turned out otherwise: ${d.outcome}${d.by ? " (" + d.by + ")" : ""}.`);
  const ts = d.parts?.find(p => p.ts)?.ts;
  if (ts) reveal(ts);
}

export const steps = [
  {
    title: "A mention is answered at once",
    text: "Somebody mentions the bot in #general. It asks no judgment and waits for nothing: the answer comes in a thread under the message, which has a workflow of its own.",
    beats: ["a mention", "it writes", "answered in the thread"],
    async run(g) {
      g.highlight("#messages");
      const ts = await g.say(g.people[0], bot() + " what can you do for us?");
      g.beat();
      navigate({ thread: ts });
      g.highlight("#mind-now", ".thread");
      await g.until("it takes up the mention", 60, () => g.state(ts)?.phase === "replying" || g.decision(ts));
      g.beat();
      await g.until("the answer appears in the thread", 120, () => messages().some(m => own(m) && m.thread_ts === ts));
      answered(await settled(g, ts));
      g.beat();
      g.highlight("#mind-verdict", ".thread");
      return "The mind is the thread's own now: it was addressed, so nothing was judged. Prompt, in the list of what it decided, shows what the model was sent; Workflow shows all of it in Temporal's Web UI.";
    },
  },
  {
    title: "Nobody answers, so it does",
    text: "A question to everybody. The bot keeps quiet while people may talk: it waits for a few seconds of silence, then asks its model whether to speak at all.",
    beats: ["a question", "it waits for quiet", "it judges", "it replies"],
    async run(g) {
      g.highlight("#messages");
      const ts = await g.say(g.people[1], "Does anybody know when we release?");
      g.beat();
      await g.until("it begins to wait", 30, () => g.isPending(ts) || g.decision(ts));
      g.beat();
      g.highlight("#mind-now");
      const d = await judged(g, ts);
      g.beat();
      g.highlight("#mind-verdict");
      if (d.outcome === "pending" && d.delay_seconds) g.explain(`It judged yes: “${d.reason}”. Still it holds back for ${d.delay_seconds} s, in case a colleague is quicker. You may press Answer now.`);
      answered(await settled(g, ts));
      g.beat();
      g.highlight("#mind-verdict", "#messages");
      return `It judged yes, and answered. Its reason, how sure it was, and what it cost stand in the mind: “${d.reason}”`;
    },
  },
  {
    title: "A colleague is quicker",
    text: "Another question. This time a colleague answers while the bot still holds its reply back. The reply is withdrawn: nobody needs it any more.",
    beats: ["a question", "it means to reply", "a colleague answers", "withdrawn", "judged anew"],
    async run(g) {
      g.highlight("#messages");
      const ts = await g.say(g.people[2], "How can I get a badge for a visitor?");
      g.beat();
      g.highlight("#mind-now");
      // A judgment can be withdrawn as well, but a held reply shows it better.
      let since = 0;
      const moment = await g.until("it means to reply", 90, () => {
        const s = g.state(), d = g.decision(ts);
        if (s?.phase === "delaying" && g.isPending(ts)) return "delaying";
        if (s?.phase === "judging") { since ||= now(); if (now() - since > 1200) return "judging"; }
        return (d?.outcome === "silent" || d?.outcome === "posted" || d?.outcome === "failed") && d;
      });
      if (moment.outcome === "posted") throw new Unexpected("The model wanted no delay: its reply was out before anybody could answer.");
      if (moment.outcome) throw new Unexpected(`The model decided otherwise, and keeps silent. Its reason: “${moment.reason}”`);
      g.beat();
      const answer = await g.say(g.people[1], "Ask at the front desk, they print one while you wait.");
      g.beat();
      const d = await settled(g, ts);
      if (d.outcome !== "withdrawn") throw new Unexpected(d.outcome === "posted" ? "The bot was quicker: its reply was on its way already, and a post is not called back." : `It turned out otherwise: ${d.outcome}.`);
      g.beat();
      g.highlight("#mind-story");
      g.explain(`Withdrawn, because ${author(answer)} wrote. The quiet time starts again, and all of it is judged anew …`);
      const after = await g.until("it judges anew", 90, () => { const d = g.decision(answer); return d && d.outcome !== "pending" && d; });
      g.beat();
      return `What it decided, and what withdrew it, stands in the list. Judged anew it ${after.outcome === "silent" ? "had nothing to add" : "had something to add"}: “${after.reason}”`;
    },
  },
  {
    title: "Killed, and nothing is lost",
    text: "Once more a question, and while the reply is held back, the worker is killed, as by a crash. The reply is a durable thing: it waits in Temporal, and the next worker posts it. Once.",
    beats: ["a question", "the reply waits", "worker killed", "due, nobody there", "a new worker", "posted once"],
    async run(g) {
      g.highlight("#messages");
      const ts = await g.say(g.people[0], "Who can review my patch today?");
      g.beat();
      g.highlight("#mind-now", ".worker");
      const moment = await g.until("a reply waits", 90, () => {
        const s = g.state(), d = g.decision(ts);
        if ((s?.phase === "delaying" && g.isPending(ts)) || (s?.phase === "replying" && d)) return "now";
        return d && d.outcome !== "pending" && d;
      });
      if (moment.outcome === "posted") throw new Unexpected("The model wanted no delay: the reply was posted before the worker could be killed.");
      if (moment.outcome) throw new Unexpected(`The model decided otherwise: ${moment.outcome}. Its reason: “${moment.reason}”`);
      g.beat();
      const due = Date.parse(g.state()?.due_at) || now();
      await g.kill();
      await g.until("the worker is dead", 30, () => g.worker() === "stopped");
      g.beat();
      g.explain("The worker is dead. The timer is Temporal's, and goes on: watch it run out with nobody there.");
      await g.until("the reply is due", 90, () => now() > due + 1500 && g.worker() === "stopped");
      g.beat();
      await g.start();
      g.beat();
      g.explain("A new worker. It reads the workflow's history, finds where the old one stood, and goes on. That may take a few seconds.");
      answered(await settled(g, ts));
      const replies = messages().filter(m => own(m) && m.ts > ts && !isReply(m)).length;
      if (replies !== 1) throw new Unexpected(`It should be posted once, and there are ${replies}.`);
      g.beat();
      g.highlight("#mind-story", "#messages");
      return "The reply survived its worker, and is posted once: before each post it is written down, and after a doubtful one it is looked for in Slack before another try.";
    },
  },
  {
    title: "It remembers",
    text: "Something worth keeping is said. The memory workflow, which runs once a minute, is started now: it writes down what was said, and that stands in every later prompt.",
    beats: ["something is said", "the memory workflow runs", "remembered"],
    async run(g) {
      const key = m => [m.scope, m.term, m.channel, m.thread, m.at, m.text].join("\n");
      g.highlight("#messages");
      const ts = await g.say(g.people[2], "For the record: the release party is on Friday at six, on the roof.");
      g.beat();
      await g.until("the bot hears of it", 30, () => g.isPending(ts) || g.decision(ts));
      const before = new Set(g.memories().map(key));
      const fresh = () => g.memories().filter(m => m.channel === g.channel && !before.has(key(m)));
      const kept = () => fresh().find(m => /party/i.test(m.text));
      g.highlight("#mind-memories");
      await g.remember();
      g.beat();
      await g.until("it remembers", 90, kept).catch(e => {
        if (!(e instanceof Unexpected) || !fresh().length) throw e;
        throw new Unexpected("It wrote something down, but the party is not among it: look for yourself.");
      });
      g.beat();
      g.highlight("#mind-memories");
      return `That is what it remembers of #${names.channel(g.channel)}, dated line by line, and it stands in every prompt from now on. That was the tour: write something yourself.`;
    },
  },
];
