-- +goose Up
CREATE INDEX changes_deleted ON changes (workflow_id, stored_us) WHERE kind = 'deleted'; -- what was deleted since a reply was composed

-- +goose Down
DROP INDEX changes_deleted;
