-- +goose Up
CREATE INDEX promises_asker ON promises (team_id, asker) WHERE state = 'open'; -- how many somebody has

-- +goose Down
DROP INDEX promises_asker;
