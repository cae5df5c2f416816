-- +goose Up
CREATE INDEX changes_mentions ON changes (stored_us) WHERE kind = 'addressed'; -- mentions of the last day

-- +goose Down
DROP INDEX changes_mentions;
