-- +goose Up
ALTER TABLE outbox ADD COLUMN proposes BOOLEAN NOT NULL DEFAULT FALSE; -- the proposals of its decision stand under it

-- +goose Down
ALTER TABLE outbox DROP COLUMN proposes;
