-- +goose Up
CREATE INDEX messages_by_storage ON messages (stored_us); -- what the search index has yet to follow

-- The terms of each message that can be found. Written behind the messages, by a cursor.
CREATE TABLE search (
    id         INTEGER NOT NULL PRIMARY KEY, -- the message's sent_us, or the next free number
    team_id    TEXT    NOT NULL,
    channel_id TEXT    NOT NULL,
    ts         TEXT    NOT NULL,
    stored_us  BIGINT  NOT NULL, -- of the message as it was read; a row with another value is stale
    own        BOOLEAN NOT NULL, -- this bot wrote it
    length     INTEGER NOT NULL, -- how many terms it has, repeated ones included
    terms      TEXT    NOT NULL, -- between spaces, with its channel as #C1 and its author as @U1
    UNIQUE (team_id, channel_id, ts)
);
-- The terms are made by us, so the tokenizer only separates them at the spaces.
CREATE VIRTUAL TABLE search_by_term USING fts5(
    terms, content = 'search', content_rowid = 'id', detail = 'none', columnsize = 0, tokenize = "ascii tokenchars '#@.'"
);
INSERT INTO search_by_term (search_by_term, rank) VALUES ('secure-delete', 1); -- a deleted message's terms leave the file, too
-- +goose StatementBegin
CREATE TRIGGER search_added AFTER INSERT ON search BEGIN
    INSERT INTO search_by_term (rowid, terms) VALUES (new.id, new.terms);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_removed AFTER DELETE ON search BEGIN
    INSERT INTO search_by_term (search_by_term, rowid, terms) VALUES ('delete', old.id, old.terms);
END;
-- +goose StatementEnd

-- What the search index is like as a whole: one row.
CREATE TABLE search_state (
    id          INTEGER          NOT NULL PRIMARY KEY CHECK (id = 1),
    cursor_us   BIGINT           NOT NULL DEFAULT 0, -- messages stored before are indexed
    messages    BIGINT           NOT NULL DEFAULT 0, -- about how many rows search has
    counted     BIGINT           NOT NULL DEFAULT 0, -- how many it had when the following was found out
    mean_length DOUBLE PRECISION NOT NULL DEFAULT 1  -- of the newest messages
);
INSERT INTO search_state (id) VALUES (1);

-- The terms of so many messages that they are looked for among the newest ones only.
CREATE TABLE search_common (
    term     TEXT   NOT NULL PRIMARY KEY,
    messages BIGINT NOT NULL -- in about how many it stands
);

-- +goose Down
DROP TABLE search_common;
DROP TABLE search_state;
DROP TRIGGER search_removed;
DROP TRIGGER search_added;
DROP TABLE search_by_term;
DROP TABLE search;
DROP INDEX messages_by_storage;
