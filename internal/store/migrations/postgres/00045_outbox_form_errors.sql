-- +goose Up
ALTER TABLE outbox ADD COLUMN form_errors INTEGER NOT NULL DEFAULT 0; -- how often Slack answered with an error of its own: after two, the next plainer form is sent

-- +goose Down
ALTER TABLE outbox DROP COLUMN form_errors;
