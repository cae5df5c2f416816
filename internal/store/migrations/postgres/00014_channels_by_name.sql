-- +goose Up
CREATE INDEX channels_by_name ON channels (team_id, name); -- settings stand under names

-- +goose Down
DROP INDEX channels_by_name;
