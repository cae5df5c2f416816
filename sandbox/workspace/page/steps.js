// The steps of the tour, and its last page. Each step posts people's messages through a guide
// (see guide.js), waits for the bot, and returns its closing text or throws Unexpected. The demo
// model answers the questions here with the delays that the steps need.
import { now } from "./clock.js";
import { Unexpected } from "./guide.js";
import { reveal } from "./messages.js";
import { $, navigate, names, state } from "./state.js";

const own = m => !m.for && (m.user === state.bot.user_id || !!m.bot_id);
const messages = () => [...state.channels.get(state.channel)?.messages.values() || []];
const bot = () => "@" + state.bot.name;

// judged waits until a message has been judged. It throws if the verdict is no.
async function judged(g, ts) {
  const d = await g.until("it decides", 90, () => {
    const d = g.decision(ts);
    return d && (d.confidence !== undefined || d.source !== "judgment" || d.outcome !== "pending") && d;
  });
  if (!d.should_respond && d.outcome !== "withdrawn") throw new Unexpected(`The model decided to stay silent. Its reason: “${d.reason}”`);
  return d;
}

// settled waits for the outcome of a decision.
const settled = (g, ts) => g.until("the reply is posted", 120, () => { const d = g.decision(ts); return d && d.outcome !== "pending" && d; });

function answered(d) {
  if (d.outcome !== "posted") throw new Unexpected(`The outcome was different: ${d.outcome}${d.outcome_by ? " (" + d.outcome_by + ")" : ""}.`);
  const ts = d.parts?.find(p => p.ts)?.ts;
  if (ts) reveal(ts);
}

export const steps = [
  {
    title: "It knows when to be quiet",
    text: "Watch a question that is not meant for the bot, and then one that is.",
    beats: ["a question", "it wants to reply", "a colleague answers", "withdrawn", "a mention", "answered"],
    async run(g) {
      const asker = g.people[2], colleague = g.people[1];
      const ts = await g.say(asker, "How can I get a badge for a visitor?");
      g.beat();
      g.explain(`${names.user(asker.id)} asks everybody, and does not mention the bot. It waits: people come first.`);
      g.highlight("main .line", "#mind-now");
      // A judgment can be withdrawn as well, but a held reply shows it better.
      let since = 0;
      const moment = await g.until("it wants to reply", 90, () => {
        const s = g.state(), d = g.decision(ts);
        if (s?.phase === "delaying" && g.isPending(ts)) return s;
        if (s?.phase === "judging") { since ||= now(); if (now() - since > 1200) return s; }
        return (d?.outcome === "silent" || d?.outcome === "posted" || d?.outcome === "failed") && d;
      });
      if (moment.outcome === "posted") throw new Unexpected("The model wanted no delay: its reply was out before anybody could answer.");
      if (moment.outcome) throw new Unexpected(`The model decided otherwise, and keeps silent. Its reason: “${moment.reason}”`);
      g.beat();
      if (moment.phase === "delaying") {
        g.explain("It has decided to answer. It still holds its reply back, in case a colleague is quicker.");
        await g.pause(Math.min(2.5, (Date.parse(moment.due_at) - now()) / 2000));
      }
      const answer = await g.say(colleague, "Ask at the front desk: they print a badge while you wait.");
      g.beat();
      const d = await settled(g, ts);
      if (d.outcome !== "withdrawn") throw new Unexpected(d.outcome === "posted" ? "The bot was quicker: its reply was already on its way to Slack." : `The outcome was different: ${d.outcome}.`);
      g.beat();
      g.highlight("#messages", "#mind-story");
      g.explain(`${names.user(colleague.id)} was quicker, so the reply is withdrawn: nobody needs it any more.`);
      await g.until("it judges again", 90, () => { const d = g.decision(answer); return d && d.outcome !== "pending" && d; });
      await g.until("the message is in the search index", 60, () => g.isIndexed(answer));
      const asked = await g.say(g.people[0], `${bot()} what did ${names.user(colleague.id)} say about a badge?`);
      g.beat();
      navigate({ thread: asked });
      g.explain("Now somebody mentions it. It does not wait: it looks up what was said, and answers.");
      g.highlight(".thread", "#mind-now");
      await g.until("the answer appears in the thread", 120, () => messages().some(m => own(m) && m.thread_ts === asked));
      answered(await settled(g, asked));
      g.beat();
      await g.pause(2);
      return "Quiet while people help each other, there when it is asked. Temporal, the engine below, keeps all that waits, even through a crash: the next steps show it.";
    },
  },
  {
    title: "Nobody answers, so it does",
    text: "A question that nobody answers. After a few quiet seconds the bot asks its model whether to speak at all.",
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
      if (d.outcome === "pending" && d.delay_seconds) g.explain(`It judged yes: “${d.reason}”. It still holds back for ${d.delay_seconds} s, in case a colleague is quicker. You may press Answer now.`);
      answered(await settled(g, ts));
      g.beat();
      g.highlight("#mind-verdict", "#messages");
      return `It judged yes and answered. The mind shows its reason, its confidence and its cost: “${d.reason}”`;
    },
  },
  {
    title: "Asked, it looks it up",
    text: "A colleague says something in #random. Then somebody asks the bot for it in #general. It searches what everybody here may read, and answers with a link.",
    beats: ["said in #random", "in the search index", "a mention", "it searches", "answered with a link", "rated"],
    async run(g) {
      const here = g.channel, colleague = g.people[1];
      const other = [...state.channels.values()].find(c => c.name === "random" && c.members.includes(colleague.id) && c.members.includes(state.me));
      if (!other) throw new Unexpected("There is no #random to say it in.");
      g.channel = other.id;
      navigate({ channel: other.id, thread: null });
      g.highlight("#messages");
      const source = await g.say(colleague, "The launch moves to Thursday: the roof was not free on Friday.");
      g.beat();
      g.explain("The search index follows what is said within about ten seconds …");
      await g.until("the message is in the search index", 60, () => g.isIndexed(source));
      g.beat();
      g.channel = here;
      navigate({ channel: here, thread: null });
      const ts = await g.say(g.people[0], `${bot()} what did ${names.user(colleague.id)} say about the launch?`);
      g.beat();
      navigate({ thread: ts });
      g.highlight("#mind-now", ".thread");
      await g.until("the answer appears in the thread", 120, () => messages().some(m => own(m) && m.thread_ts === ts));
      const d = await settled(g, ts);
      answered(d);
      if (!d.steps?.length) throw new Unexpected("The model answered without a search.");
      g.beat();
      const link = `/archives/${other.id}/p${source.replace(".", "")}`;
      if (!messages().some(m => own(m) && m.thread_ts === ts && JSON.stringify(m).includes(link))) throw new Unexpected("The model searched, and gave no link to what was said.");
      g.beat();
      const up = await g.until("the answer has buttons to rate it", 10, () => document.querySelector("#replies .rating [data-vote=up]"));
      up.click();
      await g.until("the vote is taken", 10, () => document.querySelector("#replies .rating [data-vote=up][aria-pressed=true]"));
      g.beat();
      g.highlight(".thread", "#mind-story");
      return "The link opens what was said. The vote under the answer is counted for those who run the bot, without a name. In the mind, Prompt shows what the model was sent, and Workflow shows every step of it in Temporal.";
    },
  },
  {
    title: "It keeps its promises",
    text: "The bot is asked to look again in 20 seconds. Its promise is a timer in Temporal. Then the worker, the program that thinks, is killed as in a crash, and the time comes while nobody is there.",
    beats: ["asked to look again", "promised", "listed in its Home", "worker killed", "due, nobody there", "a new worker", "kept once"],
    async run(g) {
      g.highlight("#messages");
      const ts = await g.say(g.people[0], `Who has the key to the roof? ${bot()} look again in 20 seconds whether somebody has answered.`);
      navigate({ thread: ts });
      g.beat();
      const mine = () => g.promises().find(p => p.trigger_ts === ts);
      const made = await g.until("it promises", 120, () => mine() || g.decision(ts)?.outcome === "posted" && !g.decision(ts).steps?.length && "none");
      if (made === "none") throw new Unexpected("The model answered without a promise.");
      g.beat();
      const { what } = mine();
      await g.home();
      g.explain("This is the bot's Home in Slack. It shows each person what waits, what is promised, and how to silence the bot, in the channels that they may see.");
      await g.until("Home lists the promise", 10, () => $("home").textContent.includes(what));
      g.beat();
      g.highlight("#home");
      await g.pause(3);
      navigate({ thread: ts });
      await g.until("the thread is open again", 10, mine);
      g.highlight("#mind-promises", ".thread", ".worker");
      await g.kill();
      await g.until("the worker is dead", 30, () => g.worker() === "stopped");
      if (mine().state !== "open") throw new Unexpected("The promise was kept before the worker could be killed.");
      g.beat();
      g.explain("The worker is dead. The timer is in Temporal and goes on: watch it run out without a worker.");
      await g.until("the promise is due", 90, () => now() > Date.parse(mine().due) + 1500 && g.worker() === "stopped");
      g.beat();
      await g.start();
      g.beat();
      g.explain("A new worker. It replays the workflow's history and continues where the old one stopped: it looks whether the matter is settled. That may take a few seconds.");
      const p = await g.until("the promise is kept", 120, () => mine().state !== "open" && mine());
      if (p.state !== "kept") throw new Unexpected(`The promise came to another end: ${p.state}.`);
      const replies = messages().filter(m => own(m) && m.thread_ts === ts).length;
      if (replies !== 2) throw new Unexpected(`It should be promised and kept once, and the bot has said ${replies} things.`);
      g.beat();
      g.highlight("#mind-promises", ".thread");
      return "The promise outlived its worker and is kept once. Had a colleague answered, it would have let it go in silence. The message that promised has a button to cancel, and “remind me in 20 seconds to …” or “every day at 9 remind me to …” make others.";
    },
  },
  {
    title: "Asked to act, it asks first",
    text: "The bot has a tool here, a ticket desk. It may look into it freely. To open a ticket it asks first: it proposes the call, with two buttons. Here the worker is killed before the click, so that the approval waits for the next one.",
    beats: ["it looks", "it proposes", "worker killed", "approved", "a new worker", "done once, and told"],
    async run(g) {
      const person = g.people[0];
      g.highlight("#messages");
      const ts = await g.say(person, `${bot()} which tickets are there?`);
      navigate({ thread: ts });
      const look = await settled(g, ts);
      answered(look);
      if (!look.steps?.some(s => s.tool.endsWith("find_tickets"))) throw new Unexpected("The model answered without a look into the ticket desk.");
      g.beat();
      const before = g.tickets().length;
      const wish = await g.say(person, `${bot()} open a ticket for the squeaking door`, ts);
      const approve = m => m.blocks?.flatMap(b => b.elements || []).find(e => e.action_id === "myao_approve");
      const replies = after => messages().filter(m => own(m) && m.thread_ts === ts && m.ts > after);
      const proposal = await g.until("it proposes a ticket", 120, () => replies(wish).find(approve) || g.decision(wish)?.outcome === "posted" && "none");
      if (proposal === "none") throw new Unexpected("The model answered without a proposal.");
      g.beat();
      g.highlight(".thread", ".worker");
      await g.kill();
      await g.until("the worker is dead", 30, () => g.worker() === "stopped");
      g.beat();
      await g.approve(person, proposal, approve(proposal));
      g.beat();
      g.explain("The click is kept, and nothing is done yet: no worker is there. A new one takes it up …");
      if (g.tickets().length !== before) throw new Unexpected("There is a ticket, and no worker that could have opened it.");
      await g.start();
      g.beat();
      await g.until("the ticket is opened", 90, () => g.tickets().length > before);
      await g.until("the thread is told", 120, () => replies(proposal.ts)[0]);
      if (g.tickets().length !== before + 1) throw new Unexpected(`There should be one more ticket, and there are ${g.tickets().length - before}.`);
      g.beat();
      g.highlight("#mind-tickets", ".thread");
      return "The ticket was opened once, and the thread is told. The message says who approved it. Had the worker died in the middle of the call, the bot would say that it does not know its end, and never try again.";
    },
  },
  {
    title: "It remembers",
    text: "Somebody says something worth keeping. The memory workflow, which runs once a minute, starts now: it summarizes what was said, and the summary is part of every later prompt.",
    beats: ["something is said", "the memory workflow runs", "remembered"],
    async run(g) {
      const key = m => [m.scope, m.term, m.channel, m.thread, m.at, m.text].join("\n");
      g.highlight("#messages");
      const ts = await g.say(g.people[2], "For the record: the release party is on Friday at six, on the roof.");
      g.beat();
      await g.until("the bot gets the message", 30, () => g.isPending(ts) || g.decision(ts));
      const before = new Set(g.memories().map(key));
      const fresh = () => g.memories().filter(m => m.channel === g.channel && !before.has(key(m)));
      const kept = () => fresh().find(m => /party/i.test(m.text));
      g.highlight("#mind-memories");
      await g.remember();
      g.beat();
      await g.until("it remembers", 90, kept).catch(e => {
        if (!(e instanceof Unexpected) || !fresh().length) throw e;
        throw new Unexpected("It remembered something, but not the party. See for yourself.");
      });
      g.beat();
      g.highlight("#mind-memories");
      return `That is what it remembers of #${names.channel(g.channel)}, with a date for each line. It is part of every prompt from now on.`;
    },
  },
];

export const lastPage = {
  title: "Now in your own Slack",
  text: "That was the tour: write something yourself. To connect a real workspace, stop the sandbox, start Temporal, and run three commands. The file docs/connecting.md of the repository has each step.",
  commands: [
    [".bin/starter init", "asks about Slack, the model and the channels, and writes the configuration"],
    ["set -a; . ./.env; .bin/starter", "listens to Slack"],
    ["set -a; . ./.env; .bin/worker", "in another terminal, decides and answers"],
  ],
};
