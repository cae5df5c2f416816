-- +goose Up
ALTER TABLE changes ADD COLUMN ordered_by TEXT NOT NULL DEFAULT ''; -- hushed, or addressed at somebody's order: whose
ALTER TABLE changes ADD COLUMN trace TEXT NOT NULL DEFAULT ''; -- W3C traceparent of the request that brought it

-- One row a call of a model: what it cost, and what for.
CREATE TABLE model_calls (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    team_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL DEFAULT '', -- '' for the memory of the workspace
    thread_ts  TEXT    NOT NULL DEFAULT '',
    purpose    TEXT    NOT NULL, -- response, judgment, memory
    provider   TEXT    NOT NULL,
    model      TEXT    NOT NULL,
    tokens_in  INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    latency_us BIGINT  NOT NULL DEFAULT 0,
    error      TEXT    NOT NULL DEFAULT '', -- its kind; '': the model answered
    decision   TEXT    NOT NULL DEFAULT '', -- key of the decision that it was made for
    called_us  BIGINT  NOT NULL -- when it ended
);
CREATE INDEX model_calls_by_channel ON model_calls (team_id, channel_id, called_us);
CREATE INDEX model_calls_by_time ON model_calls (called_us);
CREATE INDEX model_calls_by_decision ON model_calls (decision) WHERE decision <> '';

-- What people have told the bot to do: who, and when.
CREATE TABLE orders (
    id         TEXT   NOT NULL PRIMARY KEY, -- of the update, or of what else carried it: what is carried out again is written once
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL DEFAULT '', -- '' for the memory of the workspace
    thread_ts  TEXT   NOT NULL DEFAULT '',
    kind       TEXT   NOT NULL, -- answer-now, drop, snooze, mute, unmute, hush, forget, rollback
    ordered_by TEXT   NOT NULL, -- cli:NAME, slack:U…
    subject    TEXT   NOT NULL DEFAULT '', -- ts of the message, term and version of the memory
    until_us   BIGINT NOT NULL DEFAULT 0, -- snooze and mute: the end
    ordered_us BIGINT NOT NULL
);
CREATE INDEX orders_by_channel ON orders (team_id, channel_id, ordered_us);

CREATE INDEX outbox_by_trigger ON outbox (team_id, channel_id, trigger_ts);

ALTER TABLE memories ADD COLUMN ordered_by TEXT NOT NULL DEFAULT ''; -- origin operator: who put it in force
ALTER TABLE memories ADD COLUMN forgotten_by TEXT NOT NULL DEFAULT ''; -- who had its text emptied
ALTER TABLE memories ADD COLUMN forgotten_us BIGINT NOT NULL DEFAULT 0; -- when; 0: it has its text
ALTER TABLE memory_scopes ADD COLUMN ordered_us BIGINT NOT NULL DEFAULT 0; -- when somebody last put an old version in force

-- What memories are not made of any more. Of channel_id, thread_ts and ts, all are '' for
-- the workspace, the latter two for a channel, the last for a thread.
CREATE TABLE forgotten (
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL DEFAULT '',
    thread_ts  TEXT   NOT NULL DEFAULT '',
    ts         TEXT   NOT NULL DEFAULT '', -- of one message
    until_us   BIGINT NOT NULL, -- what was sent by then, and of the workspace what was remembered
    PRIMARY KEY (team_id, channel_id, thread_ts, ts)
);

-- +goose Down
DROP TABLE forgotten;
ALTER TABLE memory_scopes DROP COLUMN ordered_us;
ALTER TABLE memories DROP COLUMN forgotten_us;
ALTER TABLE memories DROP COLUMN forgotten_by;
ALTER TABLE memories DROP COLUMN ordered_by;
DROP INDEX outbox_by_trigger;
DROP TABLE orders;
DROP TABLE model_calls;
ALTER TABLE changes DROP COLUMN trace;
ALTER TABLE changes DROP COLUMN ordered_by;
