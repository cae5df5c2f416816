-- +goose Up
CREATE INDEX outbox_by_decision ON outbox (decision); -- by a column that never changes, so that updates of the state stay cheap

-- +goose Down
DROP INDEX outbox_by_decision;
