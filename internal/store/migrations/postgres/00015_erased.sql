-- +goose Up
CREATE TABLE erased (
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL DEFAULT '', -- of a channel that was purged
    person     TEXT   NOT NULL DEFAULT '', -- hash of the id of a person who was forgotten
    until_us   BIGINT NOT NULL, -- what was sent by then is not stored again when Slack's history is read
    PRIMARY KEY (team_id, channel_id, person)
);

-- +goose Down
DROP TABLE erased;
