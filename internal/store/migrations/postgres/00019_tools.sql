-- +goose Up
-- What a model asked for before it wrote a reply: its answers that call tools, verbatim, so that they can be sent back and are paid for once.
CREATE TABLE turns (
    decision   TEXT     NOT NULL, -- key of the decision that the reply carries out, which may not have a row yet
    round      INTEGER  NOT NULL, -- from 0
    team_id    TEXT     NOT NULL,
    channel_id TEXT     NOT NULL,
    provider   TEXT     NOT NULL,
    model      TEXT     NOT NULL, -- as it was asked for
    text       TEXT     NOT NULL, -- what it wrote beside its calls
    opaque     TEXT     NOT NULL, -- the answer as its provider wants it back
    tokens_in  INTEGER  NOT NULL,
    tokens_out INTEGER  NOT NULL,
    latency_us BIGINT   NOT NULL,
    read_us    BIGINT   NOT NULL, -- when the conversation was read for it
    made_us    BIGINT   NOT NULL,
    PRIMARY KEY (decision, round)
);
CREATE INDEX turns_made ON turns (made_us); -- retention
CREATE INDEX turns_channel ON turns (team_id, channel_id, decision);

-- The calls of those answers, one row each.
CREATE TABLE steps (
    id         TEXT     PRIMARY KEY, -- a hash of decision, round and position
    team_id    TEXT     NOT NULL,
    channel_id TEXT     NOT NULL,
    thread_ts  TEXT     NOT NULL,
    trigger_ts TEXT     NOT NULL, -- the message that is answered
    decision   TEXT     NOT NULL,
    round      INTEGER  NOT NULL,
    position   INTEGER  NOT NULL, -- among the calls of its round
    call_id    TEXT     NOT NULL, -- the provider's
    tool       TEXT     NOT NULL,
    input      TEXT     NOT NULL, -- as the model wrote it
    state      TEXT     NOT NULL, -- waiting, running, done, refused
    output     TEXT     NOT NULL, -- what the model is told
    failed     BOOLEAN  NOT NULL, -- output is an error
    attempts   INTEGER  NOT NULL,
    stored_us  BIGINT   NOT NULL,
    began_us   BIGINT   NOT NULL, -- the first attempt; 0: none
    ended_us   BIGINT   NOT NULL
);
CREATE UNIQUE INDEX steps_decision ON steps (decision, round, position);
CREATE INDEX steps_stored ON steps (stored_us); -- retention
CREATE INDEX steps_channel ON steps (team_id, channel_id, id);

ALTER TABLE changes ADD COLUMN mention BOOLEAN NOT NULL DEFAULT FALSE; -- the message mentions the bot, or somebody ordered an answer to it
ALTER TABLE changes ADD COLUMN stop BOOLEAN NOT NULL DEFAULT FALSE; -- the message says nothing but "stop"
ALTER TABLE conversations ADD COLUMN stopped_us BIGINT NOT NULL DEFAULT 0; -- when somebody stopped the bot in this thread, which holds until the next mention

-- +goose Down
ALTER TABLE conversations DROP COLUMN stopped_us;
ALTER TABLE changes DROP COLUMN stop;
ALTER TABLE changes DROP COLUMN mention;
DROP TABLE steps;
DROP TABLE turns;
