-- +goose Up

-- The channels that everybody may know of, as prompts list them. When Slack was asked about
-- them is left out: each listing writes it, which is cheap while no index has it.
CREATE INDEX channels_by_activity ON channels (team_id, active_us DESC, channel_id) WHERE member AND NOT archived AND NOT private;

-- +goose Down
DROP INDEX channels_by_activity;
