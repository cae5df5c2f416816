-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_by_decision ON outbox (decision); -- by a column that never changes, so that updates of the state stay cheap

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS outbox_by_decision;
