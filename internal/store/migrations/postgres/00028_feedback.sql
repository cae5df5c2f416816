-- +goose Up
ALTER TABLE outbox ADD COLUMN feedback BOOLEAN NOT NULL DEFAULT FALSE; -- buttons to rate the reply stand under it

-- What people think of replies: one row a person and reply, the newest vote.
CREATE TABLE feedback (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL,
    part       TEXT   NOT NULL, -- key of the message with the buttons in the outbox
    decision   TEXT   NOT NULL, -- whose reply it is
    user_id    TEXT   NOT NULL, -- who voted
    value      TEXT   NOT NULL, -- up, down
    reason     TEXT   NOT NULL, -- in their words; '' if they gave none
    voted_us   BIGINT NOT NULL,
    UNIQUE (part, user_id)
);
CREATE INDEX feedback_decision ON feedback (decision);
CREATE INDEX feedback_channel ON feedback (team_id, channel_id, id);
CREATE INDEX feedback_voted ON feedback (voted_us); -- usage, retention

-- +goose Down
DROP TABLE feedback;
ALTER TABLE outbox DROP COLUMN feedback;
