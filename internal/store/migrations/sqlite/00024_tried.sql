-- +goose Up
ALTER TABLE outbox ADD COLUMN tried_us BIGINT NOT NULL DEFAULT 0; -- the beginning of the first attempt; 0: none, or before this column

-- +goose Down
ALTER TABLE outbox DROP COLUMN tried_us;
