-- +goose Up
CREATE INDEX messages_with_files ON messages (team_id, channel_id, sent_us) WHERE files <> '' AND NOT deleted;
CREATE INDEX messages_with_files_by_thread ON messages (team_id, channel_id, thread_ts, sent_us) WHERE files <> '' AND NOT deleted;

-- +goose Down
DROP INDEX messages_with_files_by_thread;
DROP INDEX messages_with_files;
