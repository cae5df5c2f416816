-- +goose Up
CREATE TABLE reactions (
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL,
    ts         TEXT   NOT NULL, -- of the message, which may be unknown
    user_id    TEXT   NOT NULL,
    name       TEXT   NOT NULL, -- of the emoji, without colons and skin tone
    added_us   BIGINT NOT NULL DEFAULT 0,
    removed_us BIGINT NOT NULL DEFAULT 0, -- it stands there while this is before added_us
    PRIMARY KEY (team_id, channel_id, ts, user_id, name)
);
CREATE INDEX reactions_by_time ON reactions (team_id, channel_id, added_us);
ALTER TABLE changes ADD COLUMN author TEXT NOT NULL DEFAULT ''; -- user id of the message's author; only at a channel's top level

-- +goose Down
ALTER TABLE changes DROP COLUMN author;
DROP TABLE reactions;
