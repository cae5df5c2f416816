-- +goose Up

-- What people have set of a channel in Slack, over what the file says: one row for each setting that ever was.
CREATE TABLE channel_settings (
    id         TEXT    NOT NULL PRIMARY KEY, -- of the request that set it, or undid that, with the setting behind it
    team_id TEXT NOT NULL, channel_id TEXT NOT NULL,
    setting    TEXT    NOT NULL, -- mode, min_wait_seconds, quiet_hours, remember, language, tone
    value      TEXT    NOT NULL, -- as in the file
    is_set     BOOLEAN NOT NULL, -- else what the file says holds
    was        TEXT    NOT NULL, -- value and is_set before
    was_set    BOOLEAN NOT NULL,
    set_by TEXT NOT NULL, set_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX channel_settings_by_channel ON channel_settings (team_id, channel_id, setting);

-- The value of remember in channel_settings, for the queries that leave channels out by it; '' while it is not set.
ALTER TABLE channels ADD COLUMN remember TEXT NOT NULL DEFAULT '';
CREATE INDEX channels_by_remember ON channels (team_id, remember) WHERE remember <> '';
