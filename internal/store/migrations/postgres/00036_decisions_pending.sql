-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS decisions_pending ON decisions (decided_us) WHERE outcome = 'pending'; -- the oldest one

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS decisions_pending;
