-- +goose Up
-- The calls of tools that act, which people decide about by buttons. A row is the truth about its call: it is run only from the state approved, and only once.
CREATE TABLE proposals (
    id         TEXT     PRIMARY KEY, -- that of its step
    team_id    TEXT     NOT NULL,
    channel_id TEXT     NOT NULL,
    thread_ts  TEXT     NOT NULL,
    trigger_ts TEXT     NOT NULL, -- the message that asked
    decision   TEXT     NOT NULL, -- whose reply has the buttons
    asker      TEXT     NOT NULL,
    server     TEXT     NOT NULL,
    tool       TEXT     NOT NULL, -- as the model called it
    input      TEXT     NOT NULL,
    idempotent BOOLEAN  NOT NULL, -- it may be run again if nobody knows whether it was
    state      TEXT     NOT NULL, -- open, approved, begun, done, failed, unknown, declined, cancelled, lapsed, withdrawn
    shown_ts   TEXT     NOT NULL, -- the message with the buttons; '' before it is posted
    decided_by TEXT     NOT NULL, -- slack:U… or an operator
    decided_us BIGINT   NOT NULL,
    lapses_us  BIGINT   NOT NULL,
    stored_us  BIGINT   NOT NULL,
    began_us   BIGINT   NOT NULL,
    ended_us   BIGINT   NOT NULL,
    output     TEXT     NOT NULL  -- what came of it
);
CREATE INDEX proposals_decision ON proposals (decision);
CREATE INDEX proposals_channel ON proposals (team_id, channel_id, id);
CREATE INDEX proposals_stored ON proposals (stored_us); -- retention, listing
CREATE INDEX proposals_open ON proposals (stored_us) WHERE state IN ('open', 'approved', 'begun');

-- +goose Down
DROP TABLE proposals;
