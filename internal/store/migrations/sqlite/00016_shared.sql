-- +goose Up
ALTER TABLE channels ADD COLUMN shared_us BIGINT NOT NULL DEFAULT 0; -- since when people of other companies are known to read it; 0: they do not
UPDATE channels SET shared_us = CASE WHEN refreshed_us > active_us THEN refreshed_us ELSE active_us END WHERE external; -- nothing earlier is known

-- +goose Down
ALTER TABLE channels DROP COLUMN shared_us;
