-- +goose Up
CREATE INDEX decisions_pending ON decisions (decided_us) WHERE outcome = 'pending'; -- the oldest one

-- +goose Down
DROP INDEX decisions_pending;
