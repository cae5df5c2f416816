-- +goose Up
ALTER TABLE channels ADD COLUMN member BOOLEAN NOT NULL DEFAULT FALSE; -- the bot is in it, as Slack said last
ALTER TABLE channels ADD COLUMN archived BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE channels ADD COLUMN closed_us BIGINT NOT NULL DEFAULT 0; -- when Slack said last that not everybody may read it; what it said before does not open it
ALTER TABLE channels ADD COLUMN known_since_us BIGINT NOT NULL DEFAULT 0; -- what was said before is stored, and not answered by catch-up
ALTER TABLE channels ADD COLUMN caught_up_to TEXT NOT NULL DEFAULT ''; -- ts: Slack's history has been read up to here
ALTER TABLE channels ADD COLUMN threads_caught_up_to TEXT NOT NULL DEFAULT ''; -- the same of the threads' replies
ALTER TABLE channels ADD COLUMN threads_read_us BIGINT NOT NULL DEFAULT 0; -- when those were read last
ALTER TABLE channels ADD COLUMN active_us BIGINT NOT NULL DEFAULT 0; -- about when the newest message in it was sent, 0: never
UPDATE channels SET member = TRUE, known_since_us = refreshed_us WHERE refreshed_us > 0;
INSERT INTO channels (team_id, channel_id) SELECT DISTINCT team_id, channel_id FROM messages WHERE TRUE ON CONFLICT DO NOTHING;
UPDATE channels SET active_us = COALESCE((
    SELECT MAX(m.sent_us) FROM messages m WHERE m.team_id = channels.team_id AND m.channel_id = channels.channel_id AND NOT m.deleted
), 0);

CREATE INDEX messages_unhandled ON messages (team_id, channel_id, sent_us) WHERE NOT handled AND NOT deleted;

-- Every version of every memory. Of channel_id and thread_ts, both are '' for the
-- workspace, the latter for a channel.
CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    team_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL DEFAULT '',
    thread_ts  TEXT    NOT NULL DEFAULT '',
    term       TEXT    NOT NULL, -- long, short
    version    INTEGER NOT NULL, -- from 1 on; 0 is a draft, which has never been in force
    text       TEXT    NOT NULL,
    origin     TEXT    NOT NULL, -- model
    model      TEXT    NOT NULL DEFAULT '',
    tokens_in  INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    latency_us BIGINT  NOT NULL DEFAULT 0,
    sources    TEXT    NOT NULL DEFAULT '', -- JSON array: the ts of messages; for the workspace, the memories as channel/id (C1/57)
    cursor     TEXT    NOT NULL DEFAULT '', -- what the scope looked like
    made_us    BIGINT  NOT NULL,
    UNIQUE (team_id, channel_id, thread_ts, term, version)
);

-- What is remembered now, and what was there to be remembered when it was made.
CREATE TABLE memory_scopes (
    team_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL DEFAULT '',
    thread_ts  TEXT    NOT NULL DEFAULT '',
    long_id    BIGINT, -- of memories; NULL: none
    short_id   BIGINT,
    since_us   BIGINT  NOT NULL, -- the cursor is of messages sent from here on
    newest_us  BIGINT  NOT NULL, -- the newest of them
    revision   TEXT    NOT NULL, -- ts of the newest edit among them
    count      INTEGER NOT NULL, -- how many, without deleted ones
    read_us    BIGINT  NOT NULL, -- what was stored later is new
    updated_us BIGINT  NOT NULL,
    PRIMARY KEY (team_id, channel_id, thread_ts)
);
CREATE INDEX memory_scopes_by_update ON memory_scopes (team_id, channel_id, updated_us);
CREATE INDEX memory_scopes_of_channels ON memory_scopes (team_id, channel_id) WHERE thread_ts = ''; -- of which there are few among the threads

-- +goose Down
DROP TABLE memory_scopes;
DROP TABLE memories;
DROP INDEX messages_unhandled;
ALTER TABLE channels DROP COLUMN active_us;
ALTER TABLE channels DROP COLUMN threads_read_us;
ALTER TABLE channels DROP COLUMN threads_caught_up_to;
ALTER TABLE channels DROP COLUMN caught_up_to;
ALTER TABLE channels DROP COLUMN known_since_us;
ALTER TABLE channels DROP COLUMN closed_us;
ALTER TABLE channels DROP COLUMN archived;
ALTER TABLE channels DROP COLUMN member;
