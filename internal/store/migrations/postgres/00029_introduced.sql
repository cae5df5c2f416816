-- +goose Up
ALTER TABLE channels ADD COLUMN introduced_us BIGINT NOT NULL DEFAULT 0; -- when the bot introduced itself; 0: it has not

-- +goose Down
ALTER TABLE channels DROP COLUMN introduced_us;
