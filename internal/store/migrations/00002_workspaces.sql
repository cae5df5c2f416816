-- Many workspaces: who has installed the app, and of whom a row is. Where a row had no workspace, it is of the one
-- whose token is slack.bot_token, with the team_id ''.

-- +goose Up

-- Who has installed the app: one row for each workspace or organisation, deleted when all that it left is purged.
CREATE TABLE installations (
    id              TEXT   NOT NULL PRIMARY KEY, -- T… a workspace, E… an organisation
    enterprise_id   TEXT   NOT NULL, -- the organisation of the workspace; '' if it has none
    name            TEXT   NOT NULL, -- of the workspace or organisation
    app_id          TEXT   NOT NULL,
    bot_user_id     TEXT   NOT NULL,
    bot_id          TEXT   NOT NULL,
    url             TEXT   NOT NULL, -- of the workspace
    scopes          TEXT   NOT NULL, -- with commas between them
    token BYTEA NOT NULL, refresh_token BYTEA NOT NULL, -- sealed; refresh_token is empty without rotation
    expires_us      BIGINT, -- when the token ends; NULL: it does not
    generation      BIGINT NOT NULL, -- counts its installations, from 1
    installed_by    TEXT   NOT NULL,
    installed_us    BIGINT NOT NULL,
    changed_us      BIGINT NOT NULL, -- when this row was last written, or whom it is granted to
    state           TEXT   NOT NULL, -- active, revoked, uninstalled, removed
    cause           TEXT   NOT NULL, -- of that state; '' while it is active
    ended_us        BIGINT NOT NULL, -- when it stopped being active
    leased_until_us BIGINT NOT NULL, -- until when nobody else may refresh the token
    lease           TEXT   NOT NULL -- who refreshes it; '' for nobody
);
CREATE INDEX installations_by_change ON installations (changed_us);

-- The workspaces to which an organisation has granted its installation, or had.
CREATE TABLE installation_teams (
    team_id         TEXT    NOT NULL PRIMARY KEY,
    installation_id TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    granted         BOOLEAN NOT NULL,
    changed_us      BIGINT  NOT NULL -- when Slack's event says that it was granted or withdrawn
);
CREATE INDEX installation_teams_by_installation ON installation_teams (installation_id, team_id);

-- Who may install the app, besides the configuration's slack.allowed_workspaces.
CREATE TABLE allowed_workspaces (
    id         TEXT   NOT NULL PRIMARY KEY, -- T… or E…
    allowed_by TEXT   NOT NULL, -- cli:NAME
    allowed_us BIGINT NOT NULL
);

-- The newest gap since which all channels of a workspace have been read. Gaps open for all workspaces at once. gaps
-- says this for those that have no row here.
CREATE TABLE closed_gaps (
    team_id   TEXT   NOT NULL PRIMARY KEY,
    closed    BIGINT NOT NULL, -- number of the gap
    closed_us BIGINT NOT NULL
);

ALTER TABLE revoked_tokens ADD COLUMN team_id TEXT NOT NULL DEFAULT ''; -- whose token it was
-- The keys stay, as programs of the version before write by them: of a workspace, schedule and server are TEAM/NAME.
ALTER TABLE runs ADD COLUMN team_id TEXT NOT NULL DEFAULT ''; -- '' for the job as a whole
ALTER TABLE mcp_tools ADD COLUMN team_id TEXT NOT NULL DEFAULT ''; -- '' for the servers of all workspaces
CREATE INDEX runs_by_team ON runs (team_id);
CREATE INDEX mcp_tools_by_team ON mcp_tools (team_id, server, tool);

ALTER TABLE step_files ADD COLUMN team_id TEXT NOT NULL DEFAULT '';
UPDATE step_files SET team_id = COALESCE((SELECT s.team_id FROM steps s WHERE s.id = step_id), '');
