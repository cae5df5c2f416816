-- +goose Up
ALTER TABLE decisions ADD COLUMN read_us BIGINT NOT NULL DEFAULT 0; -- when the model's reading began; 0: nothing was read

-- +goose Down
ALTER TABLE decisions DROP COLUMN read_us;
