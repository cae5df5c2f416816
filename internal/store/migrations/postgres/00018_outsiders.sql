-- +goose Up
ALTER TABLE users ADD COLUMN guest_us BIGINT NOT NULL DEFAULT 0; -- since when Slack says that the user is a guest; 0: is none
ALTER TABLE users ADD COLUMN stranger BOOLEAN NOT NULL DEFAULT FALSE; -- belongs to another workspace
UPDATE users SET refreshed_us = 0; -- Slack is asked again, since it was never asked about guests
CREATE INDEX users_guests ON users (team_id, guest_us) WHERE guest_us > 0;
ALTER TABLE channels ADD COLUMN org_shared BOOLEAN NOT NULL DEFAULT FALSE; -- people of other workspaces of the organisation read it and count as external
ALTER TABLE channels ADD COLUMN members_us BIGINT NOT NULL DEFAULT 0; -- when Slack was last asked who is in it; 0: never
CREATE TABLE outsiders (
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL,
    user_id    TEXT   NOT NULL, -- a guest, somebody of another workspace, or an author whom Slack did not describe
    seen_us    BIGINT NOT NULL DEFAULT 0, -- when they were last known to be in the channel
    left_us    BIGINT NOT NULL DEFAULT 0, -- when they last left it; they are in it while this is before seen_us
    PRIMARY KEY (team_id, channel_id, user_id)
);
CREATE INDEX outsiders_present ON outsiders (team_id, channel_id) WHERE left_us < seen_us;
CREATE INDEX outsiders_by_user ON outsiders (team_id, user_id);

-- +goose Down
DROP TABLE outsiders;
ALTER TABLE channels DROP COLUMN members_us;
ALTER TABLE channels DROP COLUMN org_shared;
DROP INDEX users_guests;
ALTER TABLE users DROP COLUMN stranger;
ALTER TABLE users DROP COLUMN guest_us;
