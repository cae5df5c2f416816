-- +goose Up
-- The pictures and documents that a step's result shows to the model, apart from steps, which many queries read. They go with their step.
CREATE TABLE step_files (
    step_id  TEXT    NOT NULL,
    position INTEGER NOT NULL, -- from 0
    name     TEXT    NOT NULL,
    mime     TEXT    NOT NULL,
    data     BLOB    NOT NULL,
    PRIMARY KEY (step_id, position)
);
-- +goose StatementBegin
CREATE TRIGGER step_removed AFTER DELETE ON steps BEGIN
    DELETE FROM step_files WHERE step_id = old.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER step_removed;
DROP TABLE step_files;
