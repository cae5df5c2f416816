-- +goose Up
CREATE INDEX steps_unfinished ON steps (stored_us) WHERE state IN ('waiting', 'running'); -- the oldest one

-- +goose Down
DROP INDEX steps_unfinished;
