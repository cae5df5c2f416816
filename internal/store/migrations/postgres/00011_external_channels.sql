-- +goose Up
ALTER TABLE channels ADD COLUMN external BOOLEAN NOT NULL DEFAULT FALSE; -- people of other companies read it, too (Slack Connect)

-- +goose Down
ALTER TABLE channels DROP COLUMN external;
