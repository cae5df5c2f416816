-- Events that other programs send to hooks, and promises that wait for one.
-- +goose Up

-- One row for each channel of the hook. A promise looks at those after the last one that it has seen.
CREATE TABLE hook_events (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- within a channel in the order of their commits
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    hook        TEXT   NOT NULL, -- its name in the configuration
    delivery    TEXT   NOT NULL, -- a hash of the sender's id of the delivery, or of the body
    text TEXT COLLATE "default" NOT NULL,
    terms       TEXT   NOT NULL, -- with spaces between them, and around all
    received_us BIGINT NOT NULL
);
CREATE INDEX hook_events_by_channel ON hook_events (team_id, channel_id, id);
CREATE INDEX hook_events_by_delivery ON hook_events (team_id, channel_id, hook, delivery);
CREATE INDEX hook_events_by_time ON hook_events (received_us);

ALTER TABLE promises ADD COLUMN until_hook TEXT NOT NULL DEFAULT ''; -- it is looked at when an event comes by that hook
ALTER TABLE promises ADD COLUMN seen_event BIGINT NOT NULL DEFAULT 0; -- id of the newest event that was not it
ALTER TABLE promises ADD COLUMN woken_us BIGINT NOT NULL DEFAULT 0; -- when to look at events; 0: there are none
CREATE INDEX promises_until ON promises (team_id, channel_id, until_hook) WHERE state = 'open' AND until_hook <> '';
