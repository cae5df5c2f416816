-- +goose Up
ALTER TABLE outbox ADD COLUMN turn_us BIGINT NOT NULL DEFAULT 0; -- its turn among the channel's posts; 0: it has none, or has used it
ALTER TABLE outbox DROP COLUMN tried_us;

-- +goose Down
ALTER TABLE outbox ADD COLUMN tried_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox DROP COLUMN turn_us;
