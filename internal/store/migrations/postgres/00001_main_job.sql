-- Instants are microseconds since 1970, UTC: both databases order and compare
-- them alike. ts columns hold Slack's own identifiers; sent_us is the same instant.

-- +goose Up
CREATE TABLE messages (
    team_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL,
    ts         TEXT    NOT NULL,
    sent_us    BIGINT  NOT NULL,
    thread_ts  TEXT    NOT NULL DEFAULT '', -- the parent's ts; '' at the top level
    user_id    TEXT    NOT NULL DEFAULT '',
    bot_id     TEXT    NOT NULL DEFAULT '', -- set: an app wrote it
    own        BOOLEAN NOT NULL DEFAULT FALSE, -- this bot wrote it
    name       TEXT    NOT NULL DEFAULT '', -- the name an app gave itself for this message
    text       TEXT    NOT NULL DEFAULT '', -- the newest revision; emptied when deleted
    files      TEXT    NOT NULL DEFAULT '', -- JSON array of {id, name, mime}
    revision   TEXT    NOT NULL DEFAULT '', -- ts of the newest edit
    deleted    BOOLEAN NOT NULL DEFAULT FALSE,
    handled    BOOLEAN NOT NULL DEFAULT FALSE, -- its event was seen, not only its text
    stored_us  BIGINT  NOT NULL,
    PRIMARY KEY (team_id, channel_id, ts)
);
CREATE INDEX messages_by_time ON messages (team_id, channel_id, sent_us) WHERE NOT deleted;
CREATE INDEX messages_by_conversation ON messages (team_id, channel_id, thread_ts, sent_us) WHERE NOT deleted;

-- What has yet to reach a workflow, and what has: one row an effect.
CREATE TABLE changes (
    id          BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id TEXT    NOT NULL,
    ts          TEXT    NOT NULL,
    sent_us     BIGINT  NOT NULL,
    kind        TEXT    NOT NULL, -- said, addressed, edited, deleted
    revision    TEXT    NOT NULL DEFAULT '',
    follow_up   BOOLEAN NOT NULL DEFAULT FALSE,
    stored_us   BIGINT  NOT NULL,
    relayed_us  BIGINT, -- when its signal had succeeded; NULL: waiting
    UNIQUE (workflow_id, ts, kind, revision)
);
CREATE INDEX changes_waiting ON changes (workflow_id, sent_us) WHERE relayed_us IS NULL;

CREATE TABLE conversations (
    workflow_id  TEXT   NOT NULL PRIMARY KEY,
    claimed_by   TEXT   NOT NULL DEFAULT '', -- the relay that sends its changes
    claimed_us   BIGINT NOT NULL DEFAULT 0,  -- until when
    silenced_us  BIGINT NOT NULL DEFAULT 0   -- muted or snoozed until then
);

CREATE TABLE outbox (
    key          TEXT    NOT NULL PRIMARY KEY, -- of (team, channel, thread, trigger, revision, part)
    reply        TEXT    NOT NULL, -- the same without the part: what belongs together
    part         INTEGER NOT NULL,
    team_id      TEXT    NOT NULL,
    channel_id   TEXT    NOT NULL,
    thread_ts    TEXT    NOT NULL DEFAULT '', -- where it is posted
    trigger_ts   TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    state        TEXT    NOT NULL, -- composed, sending, sent, failed
    attempts     INTEGER NOT NULL DEFAULT 0,
    leased_us    BIGINT  NOT NULL DEFAULT 0, -- sending: until when the attempt may still be under way
    tried_us     BIGINT  NOT NULL DEFAULT 0, -- when the newest attempt began
    sent_ts      TEXT    NOT NULL DEFAULT '',
    error        TEXT    NOT NULL DEFAULT '',
    saw_us       BIGINT  NOT NULL DEFAULT 0, -- the newest message that the author had read
    decision     TEXT    NOT NULL DEFAULT '',
    epoch        INTEGER NOT NULL DEFAULT 0, -- of the decision: a newer one's text stays
    stored_us    BIGINT  NOT NULL
);
CREATE INDEX outbox_by_reply ON outbox (reply, part);
CREATE INDEX outbox_by_sent ON outbox (team_id, channel_id, sent_ts) WHERE sent_ts <> '';

-- One row a decision: why the bot spoke, and why it did not.
CREATE TABLE decisions (
    key            TEXT    NOT NULL PRIMARY KEY, -- run id / epoch
    workflow_id    TEXT    NOT NULL,
    trigger_ts     TEXT    NOT NULL,
    revision       TEXT    NOT NULL DEFAULT '',
    source         TEXT    NOT NULL, -- judgment, rule, addressed, operator
    rule           TEXT    NOT NULL DEFAULT '',
    should_respond BOOLEAN NOT NULL DEFAULT FALSE,
    reason         TEXT    NOT NULL DEFAULT '',
    confidence     DOUBLE PRECISION,
    delay_seconds  INTEGER,
    model          TEXT    NOT NULL DEFAULT '',
    tokens_in      INTEGER NOT NULL DEFAULT 0,
    tokens_out     INTEGER NOT NULL DEFAULT 0,
    latency_us     BIGINT  NOT NULL DEFAULT 0,
    outcome        TEXT    NOT NULL, -- pending, silent, posted, withdrawn, dropped, overruled, failed
    outcome_by     TEXT    NOT NULL DEFAULT '', -- message ts, operator, or error
    decided_us     BIGINT  NOT NULL,
    settled_us     BIGINT
);
CREATE INDEX decisions_by_conversation ON decisions (workflow_id, decided_us);

CREATE TABLE users (
    team_id      TEXT    NOT NULL,
    user_id      TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    is_bot       BOOLEAN NOT NULL DEFAULT FALSE,
    refreshed_us BIGINT  NOT NULL,
    PRIMARY KEY (team_id, user_id)
);

CREATE TABLE channels (
    team_id      TEXT   NOT NULL,
    channel_id   TEXT   NOT NULL,
    name         TEXT   NOT NULL DEFAULT '', -- empty for a direct message
    private      BOOLEAN NOT NULL DEFAULT FALSE,
    refreshed_us BIGINT NOT NULL DEFAULT 0, -- 0: Slack was never asked
    next_post_us BIGINT NOT NULL DEFAULT 0, -- when the next message may be posted (about one a second)
    PRIMARY KEY (team_id, channel_id)
);

-- +goose Down
DROP TABLE channels, users, decisions, outbox, conversations, changes, messages;
