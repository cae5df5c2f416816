package workspaces

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"myao/internal/slack"
	"myao/internal/slack/oauth"
	"myao/internal/store"
)

// installed is an installation of the app. It implements slack.Gate.
type installed struct {
	*Workspaces
	closed atomic.Bool
	// doubted is set after Slack has refused the token, until it is known whether it takes it.
	doubted atomic.Bool
	// expired is set after Slack has said that the token has ended.
	expired atomic.Bool
	// unlisted is set while it is to be asked which workspaces an organisation grants the installation to.
	unlisted atomic.Bool

	taking sync.Mutex // held while a row is taken over, so that no older one replaces it

	mu    sync.Mutex
	row   store.Installation
	token string
	made  map[string]*Workspace // by team

	listing sync.Mutex
	listed  map[string]time.Time // when an event of a team last had Slack asked which workspaces it is granted to
}

// Closed reports whether Slack no longer takes the token.
func (i *installed) Closed() bool { return i.closed.Load() }

// Refused says that Slack has refused the token.
func (i *installed) Refused(code string) {
	switch code {
	case slack.CodeExpired:
		i.expired.Store(true)
	case slack.CodeNotGranted:
		i.unlisted.Store(true)
	default:
		i.doubted.Store(true)
	}
}

// revoke records that Slack no longer takes the token. What Slack says of an installation before this one, it ignores.
func (i *installed) revoke(ctx context.Context, r store.Revocation) error {
	state := store.InstallationRevoked
	if r.Cause == store.AppUninstalled {
		state = store.InstallationUninstalled
	}
	id := i.current().ID
	news, err := i.store.Load().EndInstallation(ctx, id, r.At, state, r.Cause)
	if err != nil || !news {
		return err
	}
	return i.reload(ctx, id)
}

func (i *installed) current() store.Installation {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.row
}

// set takes over what the table says. The clients that are there use the token from now on.
func (i *installed) set(row store.Installation) error {
	token, err := i.codec.Unseal(row.Token, SealedName(row.ID))
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.row
	if row.BotUserID != before.BotUserID {
		i.made = map[string]*Workspace{}
	}
	i.row, i.token = row, string(token)
	if !row.Expires.Equal(before.Expires) {
		i.expired.Store(false)
	}
	for _, w := range i.made {
		w.Slack.Renew(i.token)
	}
	active := row.State == store.InstallationActive && err == nil
	if i.closed.Swap(!active) == active && before.ID != "" {
		i.tell(row)
	}
	if err != nil {
		return fmt.Errorf("read the token of %s: %w", row.ID, err)
	}
	return nil
}

// tell logs that Slack takes the token, or no longer does.
func (i *installed) tell(row store.Installation) {
	if row.State == store.InstallationActive {
		i.logger.Warn("the app is installed again; what waited goes on", "installation", row.ID)
		return
	}
	i.logger.Error("nothing is sent to the workspace any more", "installation", row.ID, "name", row.Name, "state",
		row.State, "cause", row.Cause, "install_again_at", i.config.Server.PublicURL+oauth.InstallPath)
}

// workspace returns a workspace of the installation. Slack is asked once who the bot is there.
func (i *installed) workspace(ctx context.Context, team string) (*Workspace, error) {
	i.mu.Lock()
	w, row, token := i.made[team], i.row, i.token
	i.mu.Unlock()
	if w != nil {
		return w, nil
	}
	organisation, of := row.Enterprise(), ""
	if row.Organisation() {
		of = team
	}
	c := i.config.ForWorkspace(team, organisation)
	settings := slack.Config{Token: token, TeamID: of, APIURL: c.Slack.APIURL, TrustOrg: c.Slack.TrustOrg(),
		Metrics: i.metrics, Gate: i}
	own, err := slack.New(settings).Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("learn who the bot is in %s: %w", team, err)
	}
	own.TeamID, own.UserID, own.AppID, own.Enterprise = team, row.BotUserID, row.AppID, organisation
	if row.Organisation() {
		own.OrgID = row.ID
	}
	settings.Identity = own // by which the client tells who is a stranger
	client := slack.New(settings)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.row.BotUserID != row.BotUserID {
		return nil, errors.New("the app has just been installed again")
	}
	if known := i.made[team]; known != nil {
		return known, nil
	}
	client.Renew(i.token)
	w = &Workspace{Own: own, Slack: client, Config: c}
	i.made[team] = w
	return w, nil
}

// check asks Slack whether it takes a token that it has refused, and records if it does not.
func (i *installed) check(ctx context.Context) error {
	i.mu.Lock()
	row, token := i.row, i.token
	i.mu.Unlock()
	at := i.clock()
	_, err := slack.New(slack.Config{Token: token, APIURL: i.config.Slack.APIURL, Metrics: i.metrics}).Identity(ctx)
	refused, ok := errors.AsType[*slack.Error](err)
	switch {
	case err == nil:
		i.doubted.Store(false)
		return nil
	case !ok || !refused.Revoked():
		return err
	}
	if now := i.current(); now.Generation != row.Generation || !now.Expires.Equal(row.Expires) {
		return nil // it was another token
	}
	i.doubted.Store(false)
	return i.revoke(ctx, store.Revocation{Cause: refused.Code, At: at.Add(-time.Second)})
}

// SealedName is the name under which the tokens of an installation are sealed.
func SealedName(id string) string { return "installation/" + id }
