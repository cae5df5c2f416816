-- +goose Up
ALTER TABLE decisions ADD COLUMN addressee TEXT NOT NULL DEFAULT ''; -- me, someone, everyone, nobody: whom the model took the messages to be for
ALTER TABLE decisions ADD COLUMN gist TEXT NOT NULL DEFAULT ''; -- what the model would have added
ALTER TABLE decisions ADD COLUMN wanted BOOLEAN NOT NULL DEFAULT FALSE; -- the model's yes, whatever a threshold made of it
ALTER TABLE decisions ADD COLUMN min_confidence DOUBLE PRECISION NOT NULL DEFAULT 0; -- the threshold
ALTER TABLE decisions ADD COLUMN prompt TEXT NOT NULL DEFAULT ''; -- fingerprint of the judgment's templates
ALTER TABLE decisions ADD COLUMN signals TEXT NOT NULL DEFAULT ''; -- JSON of conversation.Signals: numbers and flags
CREATE INDEX decisions_judged ON decisions (workflow_id, decided_us) WHERE confidence IS NOT NULL; -- the newest verdict of a model

-- +goose Down
DROP INDEX decisions_judged;
ALTER TABLE decisions DROP COLUMN addressee;
ALTER TABLE decisions DROP COLUMN gist;
ALTER TABLE decisions DROP COLUMN wanted;
ALTER TABLE decisions DROP COLUMN min_confidence;
ALTER TABLE decisions DROP COLUMN prompt;
ALTER TABLE decisions DROP COLUMN signals;
