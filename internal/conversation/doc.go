// Package conversation is the policy of one conversation, a thread or the top level of a
// channel: when it waits, asks for a judgment, replies, and withdraws.
//
// It is a state machine. [State.Apply] takes an [Event] and the time, changes the [State],
// and returns the [Effect]s to execute. It imports no Temporal and no database, and reads no
// clock: the same events at the same times give the same effects. So a workflow can interpret
// it, and replay what it did.
//
// Two more things here are pure: the rules ([RuleInputs], [Rule]) that make a judgment or a reply unnecessary, and
// the [Features] that are plain to see before a judgment. The words that both depend on are in package phrases.
//
// # Life of a decision
//
//	idle → waiting → judging → delaying → replying → idle
//
// The phases are:
//
//   - [Idle]: nothing is pending. After Policy.IdleClose the workflow ends.
//   - [Waiting]: a message came that does not address the bot. It is pending until the quiet
//     time is over, which starts again with each new message. The wait ends at most
//     Policy.MaxWait after the first pending message.
//   - [Judging]: a model decides whether the bot should reply. A no, or no judgment, ends in
//     Idle. While a promise that is due is checked, the phase is Judging, too.
//   - [Delaying]: the verdict is yes, and asked for a delay before the reply.
//   - [Replying]: the reply is composed, then posted.
//
// A message that addresses the bot skips the judgment: the conversation goes to Replying at
// once, and the answer serves the messages before it too.
//
// At most one of [Judge], [Check], [Compose], [Look] and [Post] is in flight. Each belongs to a decision,
// numbered by State.Epoch, and a result from an older epoch is ignored. Approved calls ([Act]) and the ends of
// promises ([EndPromise]) run beside it. Each decision ends once: an activity records it as posted or silent, or a
// [Settle] effect records the outcome.
//
// An [Occasion] is why the bot speaks without a new message: an approved call was made, or a promise is due. It is
// answered like an addressed message, after what people have asked.
//
// # What withdraws a decision
//
// A new message, or an edit of a pending one, withdraws a decision that is judged, delayed or
// composed. All its messages then get a new quiet time. There are four exceptions:
//
//   - A post is never withdrawn. What comes meanwhile is kept in State.Later.
//   - No new message withdraws an answer to an addressed message. What comes meanwhile is kept
//     in State.Later too. After the post, one more answer covers the addressed messages among
//     it; without any, the quiet time starts.
//   - Only an addressed message withdraws a judgment that began at MaxWait (State.Capped).
//     Otherwise a busy channel would never be judged.
//   - At the top level of a channel, an addressed message is answered in a thread, which is a
//     conversation of its own. What its author has said before it is withdrawn. What others have
//     asked gets a new quiet time.
//
// Three things withdraw more than that. A message that tells the bot to stop ([Stop]) ends the work for its author,
// and is answered in one line. A promise that is due withdraws a decision that is not a reply yet: what waited waits
// again after it. What is said while a promise is about to be kept begins the work about it again, unless that is
// late already.
//
// When a message is deleted or hushed, work about that message alone ends, and work about
// others as well starts over without it.
package conversation
