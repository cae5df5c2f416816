-- +goose Up

-- The channels that everybody may know of, as prompts list them.
CREATE INDEX channels_by_activity ON channels (team_id, active_us DESC, channel_id) WHERE member AND NOT archived AND refreshed_us > 0 AND NOT private;

-- +goose Down
DROP INDEX channels_by_activity;
