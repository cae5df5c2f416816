-- +goose Up

-- The tokens that Slack no longer takes, for example since the app was uninstalled. A token that it
-- takes again goes.
CREATE TABLE revoked_tokens (
    token      TEXT   NOT NULL PRIMARY KEY, -- a hash of it
    cause      TEXT   NOT NULL,             -- app_uninstalled, tokens_revoked, or the code of a call that Slack refused
    revoked_us BIGINT NOT NULL
);

-- +goose Down
DROP TABLE revoked_tokens;
