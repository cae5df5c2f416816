-- +goose Up
-- The messages that the result of a step shows: it goes with them.
CREATE TABLE quotes (
    step_id    TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    team_id    TEXT NOT NULL,
    channel_id TEXT NOT NULL, -- of the message
    ts         TEXT NOT NULL, -- of the message
    PRIMARY KEY (step_id, channel_id, ts)
);
CREATE INDEX quotes_message ON quotes (team_id, channel_id, ts);
CREATE INDEX steps_trigger ON steps (team_id, channel_id, trigger_ts);
CREATE INDEX proposals_trigger ON proposals (team_id, channel_id, trigger_ts);
CREATE INDEX promises_trigger ON promises (team_id, channel_id, trigger_ts);

-- Of the results that there are, nothing says which messages they show. Those of replies that have ended are emptied,
-- as far as they may show any, and so is what answers or asks by messages that were deleted.
UPDATE turns SET text = '', opaque = '' WHERE EXISTS (SELECT 1 FROM decisions d WHERE d.key = turns.decision AND d.outcome <> 'pending') AND decision IN (
    SELECT decision FROM steps WHERE tool = 'read_file' OR INSTR(output, char(1)) > 0 OR EXISTS (
        SELECT 1 FROM messages m WHERE m.team_id = steps.team_id AND m.channel_id = steps.channel_id AND m.ts = steps.trigger_ts AND m.deleted));
UPDATE steps SET input = '{}', output = '' WHERE decision IN (SELECT decision FROM turns WHERE opaque = '')
    AND EXISTS (SELECT 1 FROM decisions d WHERE d.key = steps.decision AND d.outcome <> 'pending');
DELETE FROM step_files WHERE step_id IN (SELECT s.id FROM steps s JOIN decisions d ON d.key = s.decision WHERE d.outcome <> 'pending');
UPDATE proposals SET input = '{}', output = '' WHERE state NOT IN ('open', 'approved', 'begun') AND EXISTS (
    SELECT 1 FROM messages m WHERE m.team_id = proposals.team_id AND m.channel_id = proposals.channel_id AND m.ts = proposals.trigger_ts AND m.deleted);
UPDATE promises SET what = '', unless = '' WHERE state <> 'open' AND EXISTS (
    SELECT 1 FROM messages m WHERE m.team_id = promises.team_id AND m.channel_id = promises.channel_id AND m.ts = promises.trigger_ts AND m.deleted);

-- +goose Down
DROP INDEX promises_trigger;
DROP INDEX proposals_trigger;
DROP INDEX steps_trigger;
DROP TABLE quotes;
