-- +goose Up

-- When a channel was found to be private that had been public: what was remembered of the workspace may be made of it.
-- Of those that are private now nobody knows whether they always were.
ALTER TABLE channels ADD COLUMN converted_us BIGINT NOT NULL DEFAULT 0;
UPDATE channels SET converted_us = closed_us WHERE private AND channel_id NOT LIKE 'D%';
CREATE INDEX channels_converted ON channels (team_id) WHERE converted_us > 0;

-- +goose Down
DROP INDEX channels_converted;
ALTER TABLE channels DROP COLUMN converted_us;
