-- +goose Up

-- When the periodic jobs last ran: one row a schedule.
CREATE TABLE runs (
    schedule TEXT   NOT NULL PRIMARY KEY, -- its id
    ran_us   BIGINT NOT NULL
);
-- Until the first run, what counts is for how long there has been none.
INSERT INTO runs (schedule, ran_us)
VALUES ('memory', unixepoch() * 1000000), ('catch-up', unixepoch() * 1000000), ('retention', unixepoch() * 1000000);

CREATE INDEX channels_joined ON channels (team_id, channel_id) WHERE member AND NOT archived; -- to count them

-- +goose Down
DROP INDEX channels_joined;
DROP TABLE runs;
