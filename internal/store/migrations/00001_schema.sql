-- The tables of both databases; README.md says where they differ. Names mean the same in every table:
--   …_us            an instant: microseconds since 1970, UTC; 0 is none, unless a comment says otherwise
--   ts, …_ts        Slack's own identifier of a message in its channel, such as 1700000000.000100; '' is none
--   team_id, …      Slack's ids: T… a workspace, C… D… G… a channel, U… a user, B… a bot
--   workflow_id     channel/TEAM/CHANNEL, thread/TEAM/CHANNEL/TS or team/TEAM
--   decision        the key of a row in decisions, which may not exist yet, or not any more
--   …_by            who ordered it: cli:NAME or slack:U…

-- +goose Up

CREATE TABLE messages (
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    ts         TEXT    NOT NULL,
    sent_us    BIGINT  NOT NULL, -- the same instant as ts
    thread_ts  TEXT    NOT NULL DEFAULT '', -- ts of the thread's parent; '' at the top level, where the parent is
    user_id    TEXT    NOT NULL DEFAULT '',
    bot_id     TEXT    NOT NULL DEFAULT '', -- set: an app wrote it
    through    TEXT    NOT NULL DEFAULT '', -- bot id of the app through which the person user_id wrote it
    own        BOOLEAN NOT NULL DEFAULT FALSE, -- this bot wrote it
    name       TEXT    NOT NULL DEFAULT '', -- the name that an app gave itself for this message
    text       TEXT COLLATE "default" NOT NULL DEFAULT '', -- of the newest revision; emptied when deleted
    files      TEXT    NOT NULL DEFAULT '', -- JSON array of {id, name, mime}
    revision   TEXT    NOT NULL DEFAULT '', -- ts of the newest edit
    deleted    BOOLEAN NOT NULL DEFAULT FALSE,
    handled    BOOLEAN NOT NULL DEFAULT FALSE, -- its event was seen, not only its text in Slack's history
    stored_us  BIGINT  NOT NULL, -- when this row was last written
    PRIMARY KEY (team_id, channel_id, ts)
);
CREATE INDEX messages_by_time ON messages (team_id, channel_id, sent_us) WHERE NOT deleted;
CREATE INDEX messages_by_conversation ON messages (team_id, channel_id, thread_ts, sent_us) WHERE NOT deleted;
CREATE INDEX messages_by_storage ON messages (stored_us); -- what the search index has yet to follow
CREATE INDEX messages_unhandled ON messages (team_id, channel_id, sent_us) WHERE NOT handled AND NOT deleted;
CREATE INDEX messages_with_files ON messages (team_id, channel_id, sent_us) WHERE files <> '' AND NOT deleted;
CREATE INDEX messages_with_files_by_thread ON messages (team_id, channel_id, thread_ts, sent_us)
    WHERE files <> '' AND NOT deleted;

-- The emoji that people put under messages.
CREATE TABLE reactions (
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    ts         TEXT   NOT NULL, -- of the message, which messages may lack
    user_id    TEXT   NOT NULL,
    name       TEXT   NOT NULL, -- of the emoji, without colons and skin tone
    added_us   BIGINT NOT NULL DEFAULT 0,
    removed_us BIGINT NOT NULL DEFAULT 0, -- the emoji is there while this is less than added_us
    PRIMARY KEY (team_id, channel_id, ts, user_id, name)
);
CREATE INDEX reactions_by_time ON reactions (team_id, channel_id, added_us);

CREATE TABLE users (
    team_id      TEXT    NOT NULL,
    user_id      TEXT    NOT NULL,
    name         TEXT COLLATE "default" NOT NULL, -- display name
    is_bot       BOOLEAN NOT NULL DEFAULT FALSE,
    guest_us     BIGINT  NOT NULL DEFAULT 0, -- since when Slack says that the user is a guest
    stranger     BOOLEAN NOT NULL DEFAULT FALSE, -- belongs to another workspace
    time_zone    TEXT    NOT NULL DEFAULT '', -- IANA name; '': Slack was never asked, '-': Slack knows none
    refreshed_us BIGINT  NOT NULL, -- when Slack was last asked
    PRIMARY KEY (team_id, user_id)
);
CREATE INDEX users_by_name ON users (team_id, LOWER(name));
CREATE INDEX users_guests ON users (team_id, guest_us) WHERE guest_us > 0;

CREATE TABLE channels (
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    name                 TEXT    NOT NULL DEFAULT '', -- '' for a direct message
    member               BOOLEAN NOT NULL DEFAULT FALSE, -- the bot is in it
    archived BOOLEAN NOT NULL DEFAULT FALSE, private BOOLEAN NOT NULL DEFAULT FALSE,
    closed_us            BIGINT  NOT NULL DEFAULT 0, -- when Slack last said that it is private
    converted_us         BIGINT  NOT NULL DEFAULT 0, -- when a public channel was found to be private
    external             BOOLEAN NOT NULL DEFAULT FALSE, -- people of other companies read it, too (Slack Connect)
    shared_us            BIGINT  NOT NULL DEFAULT 0, -- since when they are known to read it
    org_shared           BOOLEAN NOT NULL DEFAULT FALSE, -- people of the organisation's other workspaces read it, too
    members_us           BIGINT  NOT NULL DEFAULT 0, -- when Slack was last asked who is in it
    refreshed_us         BIGINT  NOT NULL DEFAULT 0, -- when Slack was last asked about the channel
    known_since_us       BIGINT  NOT NULL DEFAULT 0, -- catch-up stores what was said before, and does not answer it
    caught_up_to         TEXT    NOT NULL DEFAULT '', -- ts up to which Slack's history has been read
    threads_caught_up_to TEXT    NOT NULL DEFAULT '', -- the same for the replies in threads
    threads_read_us      BIGINT  NOT NULL DEFAULT 0, -- when those were last read
    read_gap             BIGINT  NOT NULL DEFAULT 0, -- the newest gap when it was last read completely
    active_us            BIGINT  NOT NULL DEFAULT 0, -- about when its newest message was sent
    introduced_us        BIGINT  NOT NULL DEFAULT 0, -- when the bot introduced itself
    next_post_us         BIGINT  NOT NULL DEFAULT 0, -- when the next message may be posted, as Slack limits their rate
    PRIMARY KEY (team_id, channel_id)
);
CREATE INDEX channels_by_name ON channels (team_id, name); -- the configuration may name channels
-- As prompts list channels. Without refreshed_us, which each listing writes: that is cheap while no index has it.
CREATE INDEX channels_by_activity ON channels (team_id, active_us DESC, channel_id)
    WHERE member AND NOT archived AND NOT private;
CREATE INDEX channels_joined ON channels (team_id, channel_id) WHERE member AND NOT archived; -- to count them
CREATE INDEX channels_converted ON channels (team_id) WHERE converted_us > 0;

-- Who is in a channel and not one of the workspace's own people: guests, people of other workspaces, and authors
-- whom Slack did not describe.
CREATE TABLE outsiders (
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    user_id    TEXT   NOT NULL,
    seen_us    BIGINT NOT NULL DEFAULT 0, -- when they were last known to be in the channel
    left_us    BIGINT NOT NULL DEFAULT 0, -- when they last left it; they are in it while this is less than seen_us
    PRIMARY KEY (team_id, channel_id, user_id)
);
CREATE INDEX outsiders_present ON outsiders (team_id, channel_id) WHERE left_us < seen_us;
CREATE INDEX outsiders_by_user ON outsiders (team_id, user_id);

-- Since when people wrote in channels, as far as retention deleted their messages. Memories may still be made of these.
CREATE TABLE writers (
    team_id    TEXT   NOT NULL,
    user_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL,
    since_us   BIGINT NOT NULL, -- when the first of those messages was sent
    PRIMARY KEY (team_id, user_id, channel_id)
);

-- What has yet to reach a workflow, and what has: one row for each effect of an event.
CREATE TABLE changes (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id TEXT    NOT NULL,
    ts          TEXT    NOT NULL, -- of the message
    sent_us     BIGINT  NOT NULL, -- the same instant as ts
    kind        TEXT    NOT NULL, -- said, addressed, edited, deleted, hushed
    revision    TEXT    NOT NULL DEFAULT '', -- of the message
    follow_up   BOOLEAN NOT NULL DEFAULT FALSE, -- it continues what its author said to the bot
    author      TEXT    NOT NULL DEFAULT '', -- user id of the message's author; only at a channel's top level
    mention     BOOLEAN NOT NULL DEFAULT FALSE, -- the message mentions the bot, or somebody ordered an answer to it
    stop        BOOLEAN NOT NULL DEFAULT FALSE, -- the message says nothing but "stop"
    ordered_by  TEXT    NOT NULL DEFAULT '', -- of what was hushed, or addressed because of an order
    trace       TEXT    NOT NULL DEFAULT '', -- W3C traceparent of the request that brought it
    stored_us   BIGINT  NOT NULL,
    relayed_us  BIGINT, -- when its signal had succeeded; NULL: it waits
    UNIQUE (workflow_id, ts, kind, revision)
);
CREATE INDEX changes_waiting ON changes (workflow_id, sent_us) WHERE relayed_us IS NULL;
CREATE INDEX changes_addressed ON changes (workflow_id) WHERE relayed_us IS NULL AND kind = 'addressed';
CREATE INDEX changes_deleted ON changes (workflow_id, stored_us) WHERE kind = 'deleted'; -- since a reply was composed
CREATE INDEX changes_mentions ON changes (stored_us) WHERE kind = 'addressed'; -- of the last day

CREATE TABLE conversations (
    workflow_id       TEXT   NOT NULL PRIMARY KEY,
    claimed_by        TEXT   NOT NULL DEFAULT '', -- the relay that sends its changes
    claimed_until_us  BIGINT NOT NULL DEFAULT 0,
    silenced_until_us BIGINT NOT NULL DEFAULT 0, -- muted or snoozed until then
    stopped_us        BIGINT NOT NULL DEFAULT 0, -- when somebody stopped the bot in this thread, until the next mention
    lost_us           BIGINT NOT NULL DEFAULT 0 -- when work for it was last found never to have ended
);

-- What people have told the bot to do.
CREATE TABLE orders (
    id         TEXT   NOT NULL PRIMARY KEY, -- of the update or request that carried it, which may be repeated
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL DEFAULT '', -- '' for the workspace
    thread_ts  TEXT   NOT NULL DEFAULT '',
    kind       TEXT   NOT NULL, -- answer-now, drop, snooze, mute, unmute, hush, forget, rollback, purge …
    subject    TEXT   NOT NULL DEFAULT '', -- ts of the message, or term and version of the memory
    until_us   BIGINT NOT NULL DEFAULT 0, -- end of a snooze or mute
    ordered_by TEXT NOT NULL, ordered_us BIGINT NOT NULL
);
CREATE INDEX orders_by_channel ON orders (team_id, channel_id, ordered_us);
CREATE INDEX orders_by_time ON orders (ordered_us);

-- The ledger: why the bot spoke, and why it did not.
CREATE TABLE decisions (
    key            TEXT    NOT NULL PRIMARY KEY, -- RUN/EPOCH of the workflow
    workflow_id    TEXT    NOT NULL,
    trigger_ts     TEXT    NOT NULL, -- the message that it is about, the newest one of those that were judged
    revision       TEXT    NOT NULL DEFAULT '', -- of that message
    source         TEXT    NOT NULL, -- judgment, rule, addressed, operator, promise
    rule           TEXT    NOT NULL DEFAULT '', -- the rule that applied, if any
    should_respond BOOLEAN NOT NULL DEFAULT FALSE,
    reason         TEXT    NOT NULL DEFAULT '',
    confidence     DOUBLE PRECISION, -- 0 to 1; NULL: no model gave a verdict
    delay_seconds  INTEGER,
    addressee      TEXT    NOT NULL DEFAULT '', -- who is meant, says the model: me, someone, everyone, nobody
    gist           TEXT    NOT NULL DEFAULT '', -- what the model would have added
    react          TEXT    NOT NULL DEFAULT '', -- the emoji that the judge chose in place of a reply
    wanted         BOOLEAN NOT NULL DEFAULT FALSE, -- the model's yes; below min_confidence it is silence all the same
    min_confidence DOUBLE PRECISION NOT NULL DEFAULT 0, -- the channel's threshold
    prompt         TEXT    NOT NULL DEFAULT '', -- fingerprint of the judgment's templates
    signals        TEXT    NOT NULL DEFAULT '', -- JSON of conversation.Signals: numbers and flags
    model          TEXT    NOT NULL DEFAULT '',
    tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0,
    outcome        TEXT    NOT NULL, -- pending, silent, posted, withdrawn, dropped, overruled, failed, retracted
    outcome_by     TEXT    NOT NULL DEFAULT '', -- what caused the outcome: ts of a message, who ordered it, or an error
    read_us        BIGINT  NOT NULL DEFAULT 0, -- when the judge began to read; 0: nothing was read
    decided_us     BIGINT  NOT NULL,
    settled_us     BIGINT -- when it got its outcome; NULL: it is pending
);
CREATE INDEX decisions_by_conversation ON decisions (workflow_id, decided_us);
-- All rows have a key. The condition keeps the planner from taking this index for a query of one conversation.
CREATE INDEX decisions_by_time ON decisions (decided_us) WHERE key <> '';
CREATE INDEX decisions_judged ON decisions (workflow_id, decided_us) WHERE confidence IS NOT NULL; -- the newest verdict
CREATE INDEX decisions_pending ON decisions (decided_us) WHERE outcome = 'pending'; -- the oldest one

-- Replies, one row for each message of a reply.
CREATE TABLE outbox (
    key             TEXT    NOT NULL PRIMARY KEY, -- the reply's with its part; travels as metadata on the Slack message
    reply           TEXT    NOT NULL, -- TEAM/CHANNEL/THREAD/TRIGGER/REVISION, and the occasion, if it has one
    part            INTEGER NOT NULL, -- number of the message in its reply, from 0
    team_id         TEXT    NOT NULL,
    channel_id      TEXT    NOT NULL, -- where it is posted
    thread_ts       TEXT    NOT NULL DEFAULT '', -- where it is posted
    trigger_ts      TEXT    NOT NULL, -- the message that it answers
    decision        TEXT    NOT NULL DEFAULT '',
    epoch           INTEGER NOT NULL DEFAULT 0, -- of the decision: an older one's text replaces no newer one's
    text            TEXT    NOT NULL,
    reaction        TEXT    NOT NULL DEFAULT '', -- set: the emoji that is put under the trigger in place of a message
    proposes        BOOLEAN NOT NULL DEFAULT FALSE, -- the proposals of its decision are shown under it
    feedback        BOOLEAN NOT NULL DEFAULT FALSE, -- it has buttons to rate the reply
    state           TEXT    NOT NULL, -- composed, sending, sent, failed, retracted
    slot_us         BIGINT  NOT NULL DEFAULT 0, -- its time among the channel's posts; 0: it has none, or has used it
    attempts        INTEGER NOT NULL DEFAULT 0,
    form_errors     INTEGER NOT NULL DEFAULT 0, -- how often Slack failed; after two, the next plainer form is sent
    leased_until_us BIGINT  NOT NULL DEFAULT 0, -- until when an attempt may still be under way
    tried_us        BIGINT  NOT NULL DEFAULT 0, -- when the first attempt began
    sent_ts         TEXT    NOT NULL DEFAULT '',
    error           TEXT    NOT NULL DEFAULT '', -- Slack's code
    saw_us          BIGINT  NOT NULL DEFAULT 0, -- when the newest message was sent that the author had read
    read_us         BIGINT  NOT NULL -- when the author read the conversation
);
CREATE INDEX outbox_by_reply ON outbox (reply, part);
CREATE INDEX outbox_by_trigger ON outbox (team_id, channel_id, trigger_ts);
CREATE INDEX outbox_by_decision ON outbox (decision); -- not by state, whose updates would write the index
CREATE INDEX outbox_by_sent ON outbox (team_id, channel_id, sent_ts) WHERE sent_ts <> '';
CREATE INDEX outbox_by_time ON outbox (read_us);

-- What people think of replies: one row for each person and message, the newest vote.
CREATE TABLE feedback (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    part       TEXT   NOT NULL, -- key in outbox of the message with the buttons
    decision   TEXT   NOT NULL,
    user_id    TEXT   NOT NULL, -- who voted
    value      TEXT   NOT NULL, -- up, down
    reason     TEXT   NOT NULL, -- in their words; '' if they gave none
    voted_us   BIGINT NOT NULL,
    UNIQUE (part, user_id)
);
CREATE INDEX feedback_by_decision ON feedback (decision);
CREATE INDEX feedback_by_channel ON feedback (team_id, channel_id, id);
CREATE INDEX feedback_by_time ON feedback (voted_us);

-- What calls of models cost, and what they were for.
CREATE TABLE model_calls (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL DEFAULT '', -- '' for the memory of the workspace
    thread_ts  TEXT    NOT NULL DEFAULT '',
    purpose    TEXT    NOT NULL, -- response, judgment, memory, shadow …
    decision   TEXT    NOT NULL DEFAULT '', -- that it was made for, if any
    provider TEXT NOT NULL, model TEXT NOT NULL,
    tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0,
    latency_us BIGINT  NOT NULL DEFAULT 0, -- a duration
    error      TEXT    NOT NULL DEFAULT '', -- its kind; '': the model answered
    called_us  BIGINT  NOT NULL -- when the call ended
);
CREATE INDEX model_calls_by_channel ON model_calls (team_id, channel_id, called_us);
CREATE INDEX model_calls_by_time ON model_calls (called_us);
CREATE INDEX model_calls_by_decision ON model_calls (decision) WHERE decision <> '';
CREATE INDEX model_calls_of_shadow ON model_calls (called_us) WHERE purpose = 'shadow'; -- its daily limit

-- A model's answers that call tools, verbatim, so that they can be sent back and are paid for once.
CREATE TABLE turns (
    decision   TEXT    NOT NULL,
    round      INTEGER NOT NULL, -- from 0
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    provider   TEXT    NOT NULL,
    model      TEXT    NOT NULL, -- as it was asked for
    text       TEXT    NOT NULL, -- what the model wrote beside its calls
    opaque     TEXT    NOT NULL, -- JSON: the answer as its provider wants it back
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
    read_us    BIGINT  NOT NULL, -- when the conversation was read for it
    made_us    BIGINT  NOT NULL,
    PRIMARY KEY (decision, round)
);
CREATE INDEX turns_by_channel ON turns (team_id, channel_id, decision);
CREATE INDEX turns_by_time ON turns (made_us);

-- The calls in those answers.
CREATE TABLE steps (
    id         TEXT    NOT NULL PRIMARY KEY, -- a hash of decision, round and position
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL, thread_ts TEXT NOT NULL,
    trigger_ts TEXT    NOT NULL, -- the message that is answered
    decision   TEXT    NOT NULL,
    round INTEGER NOT NULL, position INTEGER NOT NULL, -- position: among the calls of its round, from 0
    call_id    TEXT    NOT NULL, -- the provider's
    tool       TEXT    NOT NULL,
    input      TEXT    NOT NULL, -- as the model wrote it
    state      TEXT    NOT NULL, -- waiting, running, done, refused, proposed
    output     TEXT    NOT NULL, -- what the model is told
    failed     BOOLEAN NOT NULL, -- output is an error
    attempts   INTEGER NOT NULL,
    stored_us BIGINT NOT NULL, began_us BIGINT NOT NULL, ended_us BIGINT NOT NULL -- began: the first attempt
);
CREATE UNIQUE INDEX steps_by_decision ON steps (decision, round, position);
CREATE INDEX steps_by_channel ON steps (team_id, channel_id, id);
CREATE INDEX steps_by_trigger ON steps (team_id, channel_id, trigger_ts);
CREATE INDEX steps_by_time ON steps (stored_us);
CREATE INDEX steps_unfinished ON steps (stored_us) WHERE state IN ('waiting', 'running'); -- the oldest one

-- The messages that a step's output shows: it is emptied with them.
CREATE TABLE quotes (
    step_id    TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    team_id    TEXT NOT NULL,
    channel_id TEXT NOT NULL, -- of the message
    ts         TEXT NOT NULL, -- of the message; 0 asks to empty the output when its decision is settled
    PRIMARY KEY (step_id, channel_id, ts)
);
CREATE INDEX quotes_by_message ON quotes (team_id, channel_id, ts);

-- The pictures and documents that a step's output shows, apart from steps, which many queries read.
CREATE TABLE step_files (
    step_id  TEXT    NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position INTEGER NOT NULL, -- from 0
    name     TEXT    NOT NULL,
    mime     TEXT    NOT NULL,
    data     BYTEA   NOT NULL,
    PRIMARY KEY (step_id, position)
);

-- The calls of tools that act, which people decide about by buttons. A call is carried out only from the state
-- approved, and only once.
CREATE TABLE proposals (
    id         TEXT    NOT NULL PRIMARY KEY, -- that of its step
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL, thread_ts TEXT NOT NULL,
    trigger_ts TEXT    NOT NULL, -- the message that asked
    decision   TEXT    NOT NULL, -- its reply has the buttons
    asker      TEXT    NOT NULL, -- user id of the author of that message
    server     TEXT    NOT NULL, -- the MCP server's name in the configuration
    tool       TEXT    NOT NULL, -- as the model called it
    input      TEXT    NOT NULL,
    idempotent BOOLEAN NOT NULL, -- it may be carried out again if nobody knows whether it was
    state      TEXT    NOT NULL, -- open, approved, begun, done, failed, unknown, declined, cancelled, lapsed, withdrawn
    shown_ts   TEXT    NOT NULL, -- the message with the buttons; '' before it is posted
    decided_by TEXT NOT NULL, decided_us BIGINT NOT NULL,
    lapses_us  BIGINT  NOT NULL, -- until when it may be approved
    output     TEXT    NOT NULL, -- what the tool answered
    stored_us BIGINT NOT NULL, began_us BIGINT NOT NULL, ended_us BIGINT NOT NULL
);
CREATE INDEX proposals_by_decision ON proposals (decision);
CREATE INDEX proposals_by_channel ON proposals (team_id, channel_id, id);
CREATE INDEX proposals_by_trigger ON proposals (team_id, channel_id, trigger_ts);
CREATE INDEX proposals_by_time ON proposals (stored_us);
CREATE INDEX proposals_open ON proposals (stored_us) WHERE state IN ('open', 'approved', 'begun');

-- What the bot has promised to look at again, or to remind people of.
CREATE TABLE promises (
    id         TEXT   NOT NULL PRIMARY KEY, -- that of its step
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL, thread_ts TEXT NOT NULL,
    trigger_ts TEXT   NOT NULL, -- the message that asked
    decision   TEXT   NOT NULL, -- its reply confirms the promise
    asker      TEXT   NOT NULL, -- user id of the author of that message
    what       TEXT   NOT NULL,
    unless     TEXT   NOT NULL, -- what makes it superfluous; '' for a reminder
    every      TEXT   NOT NULL, -- day, weekday, week, month; '' for once
    zone       TEXT   NOT NULL, -- IANA name of the time zone in which it was made
    first_us   BIGINT NOT NULL, -- when it is due for the first time
    due_us     BIGINT NOT NULL, -- when it is due next, or was due last if it has ended
    held_us    BIGINT NOT NULL, -- until when a mute or quiet hours hold it up
    number     BIGINT NOT NULL, -- counts the times that it is due, from 1
    state      TEXT   NOT NULL, -- open, kept, released, withdrawn, cancelled, failed
    shown_ts   TEXT   NOT NULL, -- the message that confirms it; '' before it is posted
    ended_by   TEXT   NOT NULL, -- who ended it, or a rule
    stored_us BIGINT NOT NULL, ended_us BIGINT NOT NULL
);
CREATE INDEX promises_by_decision ON promises (decision);
CREATE INDEX promises_by_channel ON promises (team_id, channel_id, id);
CREATE INDEX promises_by_trigger ON promises (team_id, channel_id, trigger_ts);
CREATE INDEX promises_by_time ON promises (stored_us);
CREATE INDEX promises_open ON promises (due_us) WHERE state = 'open';
CREATE INDEX promises_open_by_thread ON promises (team_id, channel_id, thread_ts, due_us) WHERE state = 'open';
CREATE INDEX promises_open_by_asker ON promises (team_id, asker) WHERE state = 'open'; -- how many somebody has

-- What people asked the bot to remember in a channel.
CREATE TABLE notes (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    step       TEXT   NOT NULL UNIQUE, -- id of the step that made it, which may be repeated
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    ts         TEXT   NOT NULL, -- the message that asked
    author     TEXT   NOT NULL, -- user id of its author
    permalink  TEXT   NOT NULL DEFAULT '', -- of that message
    text       TEXT   NOT NULL,
    noted_us   BIGINT NOT NULL
);
CREATE INDEX notes_by_channel ON notes (team_id, channel_id, id);
CREATE INDEX notes_by_message ON notes (team_id, channel_id, ts);

-- What the MCP servers of the configuration have listed. Rows of tools that are gone stay, so that a tool that acts
-- is known as such when it comes back.
CREATE TABLE mcp_tools (
    server      TEXT    NOT NULL, -- its name in the configuration
    tool        TEXT    NOT NULL, -- as its server names it
    name        TEXT    NOT NULL, -- as models call it
    description TEXT    NOT NULL,
    schema      TEXT    NOT NULL, -- JSON schema of its input
    annotations TEXT    NOT NULL, -- JSON
    reads       BOOLEAN NOT NULL, -- its server says now that it only reads
    act         BOOLEAN NOT NULL, -- it acts, or has acted since it was last allowed
    fingerprint TEXT    NOT NULL, -- of description, schema and annotations
    allowed     TEXT    NOT NULL, -- the fingerprint that was allowed
    seen_us     BIGINT  NOT NULL, -- when it was last listed
    gone        BOOLEAN NOT NULL, -- the last listing lacks it
    PRIMARY KEY (server, tool)
);

-- Every version of every memory, whose scope is a thread, a channel (thread_ts is '') or the workspace (both are '').
CREATE TABLE memories (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL DEFAULT '', thread_ts TEXT NOT NULL DEFAULT '',
    term         TEXT    NOT NULL, -- long, short
    version      INTEGER NOT NULL, -- from 1; 0 is a draft, which was never in force
    text         TEXT    NOT NULL,
    origin       TEXT    NOT NULL, -- model, operator
    model        TEXT    NOT NULL DEFAULT '',
    tokens_out   INTEGER NOT NULL DEFAULT 0, -- of the call that made it
    sources      TEXT    NOT NULL DEFAULT '', -- JSON array: ts of messages; for the workspace CHANNEL/ID of memories
    cursor       TEXT    NOT NULL DEFAULT '', -- of a draft: what the scope looked like
    made_us      BIGINT  NOT NULL,
    ordered_by   TEXT    NOT NULL DEFAULT '', -- who put it in force, if origin is operator
    forgotten_by TEXT    NOT NULL DEFAULT '', -- who had its text emptied
    forgotten_us BIGINT  NOT NULL DEFAULT 0, -- when
    UNIQUE (team_id, channel_id, thread_ts, term, version)
);

-- The current memories of each scope, and which messages there were when they were made (store.Cursor).
CREATE TABLE memory_scopes (
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL DEFAULT '', thread_ts TEXT NOT NULL DEFAULT '',
    long_id    BIGINT, -- of memories; NULL: none
    short_id   BIGINT,
    since_us   BIGINT  NOT NULL, -- the cursor is about the messages sent from here on
    newest_us  BIGINT  NOT NULL, -- when the newest of them was sent
    revision   TEXT    NOT NULL, -- ts of the newest edit among them
    count      INTEGER NOT NULL, -- how many there are, without deleted ones
    read_us    BIGINT  NOT NULL, -- what was stored later is new
    updated_us BIGINT  NOT NULL,
    ordered_us BIGINT  NOT NULL DEFAULT 0, -- when somebody last put a version in force
    PRIMARY KEY (team_id, channel_id, thread_ts)
);
CREATE INDEX memory_scopes_by_update ON memory_scopes (team_id, channel_id, updated_us);
CREATE INDEX memory_scopes_of_channels ON memory_scopes (team_id, channel_id) WHERE thread_ts = ''; -- few of all

-- What memories are not made of any more, in a scope or, with ts, of one message.
CREATE TABLE forgotten (
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL DEFAULT '', thread_ts TEXT NOT NULL DEFAULT '',
    ts         TEXT   NOT NULL DEFAULT '',
    until_us   BIGINT NOT NULL, -- what was sent by then; of the workspace, what was remembered by then
    PRIMARY KEY (team_id, channel_id, thread_ts, ts)
);

-- What is not stored again when Slack's history is read, because a channel was purged or a person forgotten.
CREATE TABLE erased (
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL DEFAULT '', -- the channel, or
    person     TEXT   NOT NULL DEFAULT '', -- a hash of the person's id
    until_us   BIGINT NOT NULL, -- what was sent by then
    PRIMARY KEY (team_id, channel_id, person)
);
CREATE INDEX erased_by_time ON erased (team_id, until_us); -- whether anything was erased since a time

-- What is known in hindsight of decisions: one row for each kind of evidence.
CREATE TABLE labels (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    decision    TEXT   NOT NULL,
    kind        TEXT   NOT NULL, -- of the evidence; human: a person said so
    truth       TEXT   NOT NULL, -- what would have been right: speak, silent, wait, either
    weight      DOUBLE PRECISION NOT NULL, -- 0 to 1
    ts          TEXT   NOT NULL, -- the message that shows it; '' if none does
    at_us       BIGINT NOT NULL, -- of the evidence
    labelled_by TEXT   NOT NULL, -- '' for hindsight
    labelled_us BIGINT NOT NULL,
    UNIQUE (decision, kind)
);
CREATE INDEX labels_by_channel ON labels (team_id, channel_id, id);
CREATE INDEX labels_by_time ON labels (labelled_us);

-- The decision up to which hindsight has come: one row.
CREATE TABLE hindsight (
    id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    decided_us BIGINT  NOT NULL,
    decision   TEXT    NOT NULL
);
INSERT INTO hindsight (id, decided_us, decision) VALUES (1, 0, '');

-- What a judgment read, until the judges of shadow have been asked: a day at most.
CREATE TABLE snapshots (
    decision        TEXT   NOT NULL PRIMARY KEY,
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    messages        TEXT   NOT NULL, -- JSON object: revisions of the messages in it, by ts
    notes           TEXT   NOT NULL, -- JSON array: ts of the messages that asked for the notes in it
    data            BYTEA  NOT NULL, -- gzipped JSON with texts of people
    read_us         BIGINT NOT NULL, -- when the judgment began to read
    stored_us       BIGINT NOT NULL,
    leased_by       TEXT   NOT NULL, -- a run of the workflow; '' if it is put off
    leased_until_us BIGINT NOT NULL,
    attempts        BIGINT NOT NULL -- leases so far
);
CREATE INDEX snapshots_by_channel ON snapshots (team_id, channel_id, decision);
CREATE INDEX snapshots_by_time ON snapshots (stored_us);

-- What the judges of shadow say of decisions: one row for each judge.
CREATE TABLE opinions (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    decision       TEXT    NOT NULL,
    judge          TEXT    NOT NULL, -- its name in the configuration
    should_respond BOOLEAN NOT NULL, -- a yes below min_confidence is no
    wanted         BOOLEAN NOT NULL, -- the model's yes
    confidence     DOUBLE PRECISION, -- 0 to 1; NULL: it gave no verdict
    reason         TEXT    NOT NULL,
    delay_seconds  BIGINT,
    min_confidence DOUBLE PRECISION NOT NULL, -- the judge's threshold
    prompt         TEXT    NOT NULL, -- fingerprint of its templates
    model          TEXT    NOT NULL,
    tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL,
    latency_us     BIGINT  NOT NULL, -- a duration
    error          TEXT    NOT NULL, -- its kind; '' for a verdict
    given_us       BIGINT  NOT NULL,
    UNIQUE (decision, judge)
);
CREATE INDEX opinions_by_channel ON opinions (team_id, channel_id, id);
CREATE INDEX opinions_by_time ON opinions (given_us);

-- The terms of each message that can be found. They are written some seconds after the message.
CREATE TABLE search (
    -- id is the message's sent_us, or the next free number. terms include its channel as #C1 and its author as @U1.
-- postgres:     id BIGINT NOT NULL PRIMARY KEY, terms TSVECTOR NOT NULL,
-- sqlite:     id INTEGER NOT NULL PRIMARY KEY, terms TEXT NOT NULL,
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    ts         TEXT    NOT NULL,
    stored_us  BIGINT  NOT NULL, -- of the message when it was read; a row with another value is stale
    own        BOOLEAN NOT NULL, -- this bot wrote it
    length     INTEGER NOT NULL, -- how many terms it has, repeated ones included
    UNIQUE (team_id, channel_id, ts)
);
-- postgres: -- Without fastupdate, whose list of pending entries every search would read.
-- postgres: CREATE INDEX search_by_term ON search USING GIN (terms) WITH (fastupdate = off);
-- sqlite: -- The tokenizer only separates the terms at the spaces.
-- sqlite: CREATE VIRTUAL TABLE search_by_term USING fts5(
-- sqlite:     terms, content = 'search', content_rowid = 'id', detail = 'none', columnsize = 0,
-- sqlite:     tokenize = "ascii tokenchars '#@.'"
-- sqlite: );
-- sqlite: -- The terms of a deleted message leave the file, too.
-- sqlite: INSERT INTO search_by_term (search_by_term, rank) VALUES ('secure-delete', 1);
-- sqlite: -- +goose StatementBegin
-- sqlite: CREATE TRIGGER search_added AFTER INSERT ON search BEGIN
-- sqlite:     INSERT INTO search_by_term (rowid, terms) VALUES (new.id, new.terms);
-- sqlite: END;
-- sqlite: -- +goose StatementEnd
-- sqlite: -- +goose StatementBegin
-- sqlite: CREATE TRIGGER search_removed AFTER DELETE ON search BEGIN
-- sqlite:     INSERT INTO search_by_term (search_by_term, rowid, terms) VALUES ('delete', old.id, old.terms);
-- sqlite: END;
-- sqlite: -- +goose StatementEnd

-- The search index as a whole: one row.
CREATE TABLE search_state (
    id          INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    cursor_us   BIGINT  NOT NULL DEFAULT 0, -- messages stored before are indexed
    messages    BIGINT  NOT NULL DEFAULT 0, -- about how many rows search has
    counted     BIGINT  NOT NULL DEFAULT 0, -- how many it had when the common terms and mean_length were counted
    mean_length DOUBLE PRECISION NOT NULL DEFAULT 1 -- of the newest messages, in terms
);
INSERT INTO search_state (id) VALUES (1);

-- The terms of so many messages that they are looked for among the newest ones only.
CREATE TABLE search_common (
    term     TEXT   NOT NULL PRIMARY KEY,
    messages BIGINT NOT NULL -- about how many messages have it
);

-- The starters that take Slack's events: one row for each process, deleted when it ends.
CREATE TABLE starters (
    id      TEXT    NOT NULL PRIMARY KEY, -- random
    beat_us BIGINT  NOT NULL, -- its last heartbeat
    settled BOOLEAN NOT NULL -- it has found out whether another one took events before it began
);

-- Gaps are times in which events may have been missed; they are numbered. One row; the first starter opens the first.
CREATE TABLE gaps (
    id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    newest    BIGINT  NOT NULL, -- number of the newest gap
    closed    BIGINT  NOT NULL, -- number of the newest gap since which all channels have been read
    closed_us BIGINT  NOT NULL -- when they had been
);
INSERT INTO gaps (id, newest, closed, closed_us) VALUES (1, 0, 0, 0);

-- When the periodic jobs last ran. At first, when they could first have run.
CREATE TABLE runs (
    schedule TEXT   NOT NULL PRIMARY KEY, -- its id
    ran_us   BIGINT NOT NULL
);
INSERT INTO runs (schedule, ran_us) SELECT id,
-- postgres: EXTRACT(EPOCH FROM now()) * 1000000
-- sqlite: unixepoch() * 1000000
FROM (SELECT 'memory' AS id UNION SELECT 'catch-up' UNION SELECT 'retention') schedules;

-- The tokens that Slack no longer takes, for example since the app was uninstalled.
CREATE TABLE revoked_tokens (
    token      TEXT   NOT NULL PRIMARY KEY, -- a hash of it
    cause      TEXT   NOT NULL, -- app_uninstalled, tokens_revoked, or the code of a call that Slack refused
    revoked_us BIGINT NOT NULL
);
