-- +goose Up

-- What people asked the bot to remember in a channel.
CREATE TABLE notes (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    step       TEXT   NOT NULL UNIQUE, -- of the call that made it: a call that is repeated makes one note
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL,
    ts         TEXT   NOT NULL, -- of the message that asked
    author     TEXT   NOT NULL, -- user id of whoever asked
    text       TEXT   NOT NULL,
    permalink  TEXT   NOT NULL DEFAULT '', -- of that message
    noted_us   BIGINT NOT NULL
);
CREATE INDEX notes_by_channel ON notes (team_id, channel_id, id);
CREATE INDEX users_by_name ON users (team_id, LOWER(name));

-- +goose Down
DROP INDEX users_by_name;
DROP TABLE notes;
