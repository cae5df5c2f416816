-- +goose Up
ALTER TABLE outbox ADD COLUMN reaction TEXT NOT NULL DEFAULT ''; -- not '': the emoji that is put under the trigger, in place of a message
ALTER TABLE decisions ADD COLUMN react TEXT NOT NULL DEFAULT ''; -- the emoji that the judge chose in place of a reply

-- +goose Down
ALTER TABLE decisions DROP COLUMN react;
ALTER TABLE outbox DROP COLUMN reaction;
