-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS changes_mentions ON changes (stored_us) WHERE kind = 'addressed'; -- mentions of the last day

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS changes_mentions;
