-- +goose Up
-- What the bot has promised to look at again or to remind people of. A row is the truth about its promise; the conversation knows only when it is due.
CREATE TABLE promises (
    id         TEXT     PRIMARY KEY, -- that of its step
    team_id    TEXT     NOT NULL,
    channel_id TEXT     NOT NULL,
    thread_ts  TEXT     NOT NULL,
    trigger_ts TEXT     NOT NULL, -- the message that asked
    decision   TEXT     NOT NULL, -- whose reply confirms it
    asker      TEXT     NOT NULL,
    what       TEXT     NOT NULL,
    unless     TEXT     NOT NULL, -- what makes it superfluous; '' for a reminder
    every      TEXT     NOT NULL, -- day, weekday, week, month; '' for once
    zone       TEXT     NOT NULL, -- in which it was made
    first_us   BIGINT   NOT NULL, -- when it is due for the first time
    due_us     BIGINT   NOT NULL, -- when it is due next, or was in the end
    held_us    BIGINT   NOT NULL, -- until when a mute or quiet hours hold it up; 0 if they do not
    number     BIGINT   NOT NULL, -- counts the times, from 1
    state      TEXT     NOT NULL, -- open, kept, released, withdrawn, cancelled, failed
    shown_ts   TEXT     NOT NULL, -- the message that confirms it; '' before it is posted
    ended_by   TEXT     NOT NULL, -- slack:U…, an operator, or a rule
    stored_us  BIGINT   NOT NULL,
    ended_us   BIGINT   NOT NULL
);
CREATE INDEX promises_decision ON promises (decision);
CREATE INDEX promises_channel ON promises (team_id, channel_id, id);
CREATE INDEX promises_stored ON promises (stored_us); -- retention, listing
CREATE INDEX promises_open ON promises (due_us) WHERE state = 'open';
CREATE INDEX promises_here ON promises (team_id, channel_id, thread_ts, due_us) WHERE state = 'open';

ALTER TABLE users ADD COLUMN time_zone TEXT NOT NULL DEFAULT ''; -- IANA; '': Slack was not asked since this column, '-': it knows none

-- +goose Down
ALTER TABLE users DROP COLUMN time_zone;
DROP TABLE promises;
