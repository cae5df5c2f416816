-- +goose Up
ALTER TABLE conversations ADD COLUMN lost_us BIGINT NOT NULL DEFAULT 0; -- when work for it was last found never to have ended, such as a reading that killed the worker

-- +goose Down
ALTER TABLE conversations DROP COLUMN lost_us;
