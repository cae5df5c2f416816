-- +goose Up

-- The starters that take Slack's events: one row a process, deleted when it ends.
CREATE TABLE starters (
    id      TEXT    NOT NULL PRIMARY KEY, -- random
    beat_us BIGINT  NOT NULL, -- its last heartbeat
    settled BOOLEAN NOT NULL  -- it has found out whether another one took events before it began
);

-- Gaps are times in which events may have been missed; they are numbered: one row.
CREATE TABLE gaps (
    id        INTEGER NOT NULL PRIMARY KEY,
    number    BIGINT  NOT NULL, -- of the newest gap
    closed    BIGINT  NOT NULL, -- of the gap since which all channels have been read
    closed_us BIGINT  NOT NULL
);
INSERT INTO gaps (id, number, closed, closed_us) VALUES (1, 0, 0, 0); -- the first starter opens the first

ALTER TABLE channels ADD COLUMN read_gap BIGINT NOT NULL DEFAULT 0; -- the newest gap when the last complete reading of its history began

-- +goose Down
ALTER TABLE channels DROP COLUMN read_gap;
DROP TABLE gaps;
DROP TABLE starters;
