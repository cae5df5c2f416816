-- +goose Up
ALTER TABLE messages ADD COLUMN through TEXT NOT NULL DEFAULT ''; -- set: the app through which the person wrote it

-- +goose Down
ALTER TABLE messages DROP COLUMN through;
