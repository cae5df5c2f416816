-- +goose Up

-- What a judgment read, until the judges of shadow have been asked: a day at most.
CREATE TABLE snapshots (
    decision   TEXT   NOT NULL PRIMARY KEY, -- key
    team_id    TEXT   NOT NULL,
    channel_id TEXT   NOT NULL,
    messages   TEXT   NOT NULL, -- JSON: the ts and revisions of the messages in it
    notes      TEXT   NOT NULL, -- JSON: the ts of the messages that asked for the notes in it
    read_us    BIGINT NOT NULL, -- when the judgment began to read
    stored_us  BIGINT NOT NULL,
    leased_us  BIGINT NOT NULL, -- until when nobody else takes it; 0: anybody does
    leased_by  TEXT   NOT NULL, -- a run of the workflow; '' if it is put off
    attempts   BIGINT NOT NULL, -- leases so far
    data       BYTEA  NOT NULL  -- gzipped JSON, with texts of people
);
CREATE INDEX snapshots_channel ON snapshots (team_id, channel_id, decision);
CREATE INDEX snapshots_stored ON snapshots (stored_us);

-- What the judges of shadow say of decisions: one row a judge.
CREATE TABLE opinions (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id        TEXT             NOT NULL,
    channel_id     TEXT             NOT NULL,
    decision       TEXT             NOT NULL,
    judge          TEXT             NOT NULL, -- its name in the configuration
    should_respond BOOLEAN          NOT NULL, -- a yes below min_confidence is no
    wanted         BOOLEAN          NOT NULL, -- the model's yes
    confidence     DOUBLE PRECISION,          -- 0 to 1; NULL if it gave no verdict
    reason         TEXT             NOT NULL,
    delay_seconds  BIGINT,
    min_confidence DOUBLE PRECISION NOT NULL, -- the judge's
    prompt         TEXT             NOT NULL, -- fingerprint of its templates
    model          TEXT             NOT NULL,
    tokens_in      BIGINT           NOT NULL,
    tokens_out     BIGINT           NOT NULL,
    latency_us     BIGINT           NOT NULL,
    error          TEXT             NOT NULL, -- kind; '' for a verdict
    given_us       BIGINT           NOT NULL,
    UNIQUE (decision, judge)
);
CREATE INDEX opinions_channel ON opinions (team_id, channel_id, id);
CREATE INDEX opinions_given ON opinions (given_us); -- reports, retention

CREATE INDEX model_calls_of_shadow ON model_calls (called_us) WHERE purpose = 'shadow'; -- its daily limit
CREATE INDEX erased_until ON erased (team_id, until_us); -- whether anything was forgotten since a time

-- +goose Down
DROP INDEX erased_until;
DROP INDEX model_calls_of_shadow;
DROP TABLE opinions;
DROP TABLE snapshots;
