-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS steps_unfinished ON steps (stored_us) WHERE state IN ('waiting', 'running'); -- the oldest one

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS steps_unfinished;
