-- Whether a message calls the bot by its name. Programs of the version before leave it false, and such a message waits
-- like any other.
-- +goose Up
ALTER TABLE changes ADD COLUMN named BOOLEAN NOT NULL DEFAULT FALSE; -- a person called the bot by its name
