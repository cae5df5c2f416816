-- +goose Up
-- Since when people wrote in channels, as far as their messages were deleted for their age. Memories may still be made of those.
CREATE TABLE writers (
    team_id    TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL,
    since_us   BIGINT  NOT NULL, -- when the first of those messages was sent
    PRIMARY KEY (team_id, user_id, channel_id)
);

-- +goose Down
DROP TABLE writers;
