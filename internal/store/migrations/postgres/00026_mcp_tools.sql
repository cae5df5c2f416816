-- +goose Up
-- What the MCP servers of the configuration have listed. Rows stay when a tool is gone, so that one that acts stays one that acts.
CREATE TABLE mcp_tools (
    server      TEXT     NOT NULL,
    tool        TEXT     NOT NULL, -- as its server names it
    name        TEXT     NOT NULL, -- as models call it
    description TEXT     NOT NULL,
    schema      TEXT     NOT NULL, -- of its input
    annotations TEXT     NOT NULL,
    reads       BOOLEAN  NOT NULL, -- its server says now that it only reads
    act         BOOLEAN  NOT NULL, -- it acts, or has acted since it was last allowed
    fingerprint TEXT     NOT NULL, -- of description, schema and annotations
    allowed     TEXT     NOT NULL, -- the fingerprint that was allowed
    seen_us     BIGINT   NOT NULL, -- when it was last listed
    gone        BOOLEAN  NOT NULL, -- the last listing lacks it
    PRIMARY KEY (server, tool)
);

-- +goose Down
DROP TABLE mcp_tools;
