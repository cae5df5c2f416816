-- +goose Up

-- What is known in hindsight of decisions: one row a kind of evidence.
CREATE TABLE labels (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    team_id     TEXT             NOT NULL,
    channel_id  TEXT             NOT NULL,
    decision    TEXT             NOT NULL,
    kind        TEXT             NOT NULL, -- of the evidence; human: a person said so
    truth       TEXT             NOT NULL, -- what would have been right: speak, silent, wait, either
    weight      DOUBLE PRECISION NOT NULL, -- 0 to 1
    ts          TEXT             NOT NULL, -- of the message that shows it; '' if none does
    at_us       BIGINT           NOT NULL, -- of the evidence
    labelled_by TEXT             NOT NULL, -- cli:NAME; '' for hindsight
    labelled_us BIGINT           NOT NULL,
    UNIQUE (decision, kind)
);
CREATE INDEX labels_channel ON labels (team_id, channel_id, id);
CREATE INDEX labels_labelled ON labels (labelled_us); -- retention

-- Up to which decision hindsight has come: one row.
CREATE TABLE hindsight (
    id         INTEGER NOT NULL PRIMARY KEY,
    decided_us BIGINT  NOT NULL,
    decision   TEXT    NOT NULL
);
INSERT INTO hindsight (id, decided_us, decision) VALUES (1, 0, '');

-- +goose Down
DROP TABLE hindsight;
DROP TABLE labels;
