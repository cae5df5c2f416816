-- +goose Up
-- The pictures and documents that a step's result shows to the model, apart from steps, which many queries read. They go with their step.
CREATE TABLE step_files (
    step_id  TEXT    NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position INTEGER NOT NULL, -- from 0
    name     TEXT    NOT NULL,
    mime     TEXT    NOT NULL,
    data     BYTEA   NOT NULL,
    PRIMARY KEY (step_id, position)
);

-- +goose Down
DROP TABLE step_files;
