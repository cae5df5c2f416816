-- How much of what a model was asked its provider had read before, and charges less for: a part of tokens_in.

-- +goose Up
-- postgres: ALTER TABLE model_calls ADD COLUMN IF NOT EXISTS tokens_cached INTEGER NOT NULL DEFAULT 0;
-- sqlite: ALTER TABLE model_calls ADD COLUMN tokens_cached INTEGER NOT NULL DEFAULT 0;
