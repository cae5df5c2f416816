-- +goose Up
-- A note goes with the message that asked for it. These were only hidden, until retention deleted that message.
DELETE FROM notes WHERE EXISTS (
    SELECT 1 FROM messages m WHERE m.team_id = notes.team_id AND m.channel_id = notes.channel_id AND m.ts = notes.ts AND m.deleted
);
CREATE INDEX notes_message ON notes (team_id, channel_id, ts);

-- +goose Down
DROP INDEX notes_message;
