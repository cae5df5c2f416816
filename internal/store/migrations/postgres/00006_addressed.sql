-- +goose Up
CREATE INDEX changes_addressed ON changes (workflow_id) WHERE relayed_us IS NULL AND kind = 'addressed'; -- whose turn comes first

-- +goose Down
DROP INDEX changes_addressed;
