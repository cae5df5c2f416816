package workspaces

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/runtime/failpoint"
	"myao/internal/runtime/pause"
	"myao/internal/runtime/telemetry"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
	"myao/internal/slack/oauth"
	"myao/internal/store"
)

const (
	// pollInterval is how often the database is asked for installations that have changed.
	pollInterval = 2 * time.Second
	// Noticed is how long after a change all programs know of it.
	Noticed = 2 * pollInterval
	// stepTimeout bounds a statement, or a question to Slack, about an installation.
	stepTimeout = 5 * time.Second
	// refreshBefore is how long before its end a token is exchanged.
	refreshBefore = 5 * time.Minute
	// refreshLease is how long nobody else tries.
	refreshLease = 30 * time.Second
	// unknownFor is how long the database is not asked again about a team that it did not know. maxUnknown bounds how
	// many of them are remembered.
	unknownFor = pollInterval
	maxUnknown = 10_000
)

// follow keeps up to date who has installed the app, until the context ends.
func (w *Workspaces) follow(ctx context.Context) error {
	var since time.Time
	for {
		next, err := w.poll(ctx, since)
		switch {
		case err == nil:
			since = next
			w.loaded.Store(true)
		case ctx.Err() == nil:
			w.logger.WarnContext(ctx, "not known whether the app was installed or removed somewhere", "error", err)
		}
		if !pause.For(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// keepTokens looks after the tokens, until the context ends.
func (w *Workspaces) keepTokens(ctx context.Context) error {
	for {
		w.care(ctx)
		if !pause.For(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// poll takes over the installations that have changed since a time, and returns the time for the next poll.
func (w *Workspaces) poll(ctx context.Context, since time.Time) (next time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	changed, err := w.store.Load().InstallationsChanged(ctx, since)
	if err != nil {
		return since, err
	}
	next = w.clock().Add(-2 * store.Settled)
	if next.Before(since) {
		next = since
	}
	for _, row := range changed {
		if err := w.take(ctx, row); err != nil {
			return since, err
		}
		if settled := row.Changed.Add(-store.Settled); settled.After(next) {
			next = settled
		}
	}
	return next, nil
}

// take takes over what the table says of an installation.
func (w *Workspaces) take(ctx context.Context, row store.Installation) error {
	w.mu.Lock()
	i := w.byID[row.ID]
	if i == nil {
		i = &installed{Workspaces: w}
		w.byID[row.ID] = i
	}
	w.mu.Unlock()
	i.taking.Lock()
	defer i.taking.Unlock()
	if !row.Changed.After(i.current().Changed) {
		return nil
	}
	teams := []store.InstallationTeam{{Team: row.ID, Granted: true}}
	if row.Organisation() {
		var failed error
		if teams, failed = w.store.Load().TeamsOf(ctx, row.ID); failed != nil {
			return failed // and the next poll tries again
		}
	}
	if err := i.set(row); err != nil {
		w.logger.ErrorContext(ctx, "an installation is of no use", "installation", row.ID, "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bots = nil
	for _, t := range teams {
		own := w.byID[t.Team]
		switch {
		case own != nil && !own.Closed():
			w.of[t.Team] = own
		case t.Granted && !i.Closed():
			w.of[t.Team] = i
		case w.of[t.Team] == i: // the database tells whether another one serves
			delete(w.of, t.Team)
		}
	}
	return nil
}

// reload takes over an installation as it is now.
func (w *Workspaces) reload(ctx context.Context, id string) error {
	row, err := w.store.Load().Installation(ctx, id)
	if err != nil {
		return err
	}
	return w.take(ctx, row)
}

// installationOf returns the installation for a team, or nil.
func (w *Workspaces) installationOf(ctx context.Context, team string) (*installed, error) {
	s := w.store.Load()
	if team == "" || !w.config.Slack.Installable() {
		return nil, nil
	}
	now := w.clock()
	w.mu.Lock()
	i, asked := w.of[team], w.asked[team]
	w.mu.Unlock()
	switch {
	case i != nil:
		return i, nil
	case s == nil:
		return nil, errNoDatabase
	case now.Sub(asked) < unknownFor:
		return nil, nil
	}
	row, err := s.InstallationOf(ctx, team)
	if err == nil {
		err = w.take(ctx, row)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if found := w.byID[row.ID]; found != nil && !found.Closed() {
		w.of[team] = found
	}
	if i = w.of[team]; i == nil {
		if len(w.asked) >= maxUnknown {
			clear(w.asked)
		}
		w.asked[team] = now
	}
	return i, nil
}

// care exchanges tokens that end soon, and asks Slack about those that it has refused.
func (w *Workspaces) care(ctx context.Context) {
	for _, i := range w.all() {
		row := i.current()
		if row.State != store.InstallationActive {
			continue
		}
		var err error
		switch now := w.clock(); {
		case (i.ends(row, now) || i.expired.Load()) && !now.Before(row.Leased):
			err = i.refresh(ctx, row)
		case i.doubted.Load():
			err = i.check(ctx)
		case i.unlisted.Load():
			err = i.list(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.logger.WarnContext(ctx, "the token of an installation is not looked after; trying again", "installation",
				row.ID, "error", err)
		}
	}
}

// refresh exchanges the token for the next pair. One process does so at a time, whatever happens to it: a refresh token
// serves once. The new pair is stored before anybody uses it.
func (i *installed) refresh(ctx context.Context, row store.Installation) error {
	ctx, cancel := context.WithTimeout(ctx, refreshLease/2)
	defer cancel()
	who := rand.Text()
	leased, ok, err := i.store.Load().LeaseRefresh(ctx, row.ID, row.Generation, who, i.clock().Add(refreshLease))
	if err != nil || !ok {
		return err
	}
	if !leased.Expires.Equal(row.Expires) { // somebody was first
		return i.save(ctx, row, who, leased.Tokens)
	}
	if len(leased.Refresh) == 0 {
		return i.revoke(ctx, store.Revocation{Cause: slack.CodeExpired, At: i.clock()})
	}
	token, err := i.codec.Unseal(leased.Refresh, SealedName(row.ID))
	if err != nil {
		return fmt.Errorf("read the refresh token: %w", err)
	}
	grant, err := i.oauth.Refresh(ctx, string(token))
	if oauth.Dead(err) {
		i.logger.ErrorContext(ctx, "the token can no longer be refreshed", "installation", row.ID, "error", err)
		refused, _ := errors.AsType[*slack.Error](err)
		return i.revoke(ctx, store.Revocation{Cause: refused.Code, At: i.clock()})
	}
	if err != nil {
		return fmt.Errorf("refresh the token: %w", err)
	}
	failpoint.Here("token: refreshed")
	tokens, err := i.seal(row.ID, grant)
	if err != nil {
		return err
	}
	if err := i.save(ctx, row, who, tokens); err != nil {
		return err
	}
	i.logger.InfoContext(ctx, "token refreshed", "installation", row.ID, "expires", grant.Expires)
	return nil
}

// save stores a pair of tokens, ends the lease, and takes over the installation as it is then.
func (i *installed) save(ctx context.Context, row store.Installation, who string, t store.Tokens) error {
	saved, ok, err := i.store.Load().SaveTokens(ctx, row.ID, row.Generation, who, t)
	switch {
	case err != nil:
		return err
	case !ok: // somebody else has the lease
		return i.reload(ctx, row.ID)
	}
	return i.take(ctx, saved)
}

// ends reports whether the token ends soon.
func (i *installed) ends(row store.Installation, now time.Time) bool {
	return !row.Expires.IsZero() && row.Expires.Sub(now) < refreshBefore
}

// seal encrypts a pair of tokens for the database.
func (w *Workspaces) seal(id string, g oauth.Grant) (store.Tokens, error) {
	t := store.Tokens{Expires: g.Expires}
	var err error
	if t.Token, err = w.codec.Seal([]byte(g.Token), SealedName(id)); err != nil || g.RefreshToken == "" {
		return t, err
	}
	t.Refresh, err = w.codec.Seal([]byte(g.RefreshToken), SealedName(id))
	return t, err
}

// OAuth serves the installation of the app in a browser.
func (w *Workspaces) OAuth() *oauth.Handler {
	var scopes []string
	for _, s := range manifest.Scopes(w.config) {
		scopes = append(scopes, s.Name)
	}
	return &oauth.Handler{
		Client: w.oauth, PublicURL: w.config.Server.PublicURL, Name: w.config.Persona.Name, Scopes: scopes,
		Allowed: w.Allowed, Store: w.Install, Logger: w.logger, Language: w.config.Language,
	}
}

// Install stores an installation, with its tokens encrypted.
func (w *Workspaces) Install(ctx context.Context, g oauth.Grant) error {
	s := w.store.Load()
	if s == nil {
		return errNoDatabase
	}
	tokens, err := w.seal(g.ID(), g)
	if err != nil {
		return err
	}
	own, err := slack.New(slack.Config{Token: g.Token, APIURL: w.config.Slack.APIURL, Metrics: w.metrics}).Identity(ctx)
	if err != nil {
		return fmt.Errorf("learn who the bot is: %w", err)
	}
	row := store.Installation{ID: g.ID(), Name: g.TeamName, EnterpriseID: g.Enterprise, AppID: g.App,
		BotUserID: g.BotUser, BotID: own.BotID, URL: own.URL, Scopes: strings.Join(g.Scopes, ","), Tokens: tokens,
		InstalledBy: "slack:" + g.InstalledBy}
	if g.Org {
		row.Name, row.EnterpriseID = g.EnterpriseName, ""
	}
	if _, err := s.SaveInstallation(ctx, row); err != nil {
		return err
	}
	if err := w.reload(ctx, row.ID); err != nil {
		return err
	}
	if i := w.own(row.ID); i != nil && g.Org {
		i.unlisted.Store(true) // an installation before it may have been granted to others
	}
	return nil
}

// Allowed reports whether a team, or the organisation, may install the app.
func (w *Workspaces) Allowed(ctx context.Context, team, organisation string) (bool, error) {
	for _, id := range w.config.Slack.AllowedWorkspaces {
		if id == "*" || id != "" && (id == team || id == organisation) {
			return true, nil
		}
	}
	s := w.store.Load()
	if s == nil {
		return false, errNoDatabase
	}
	return s.Allowed(ctx, team, organisation)
}

// Revoke records that Slack no longer takes the token of a team, or of an organisation's installation.
func (w *Workspaces) Revoke(ctx context.Context, team, organisation string, e slack.Uninstalled) error {
	r := store.Revocation{Cause: e.Cause, At: e.At}
	if w.config.Slack.Installable() {
		i, err := w.known(ctx, cmp.Or(organisation, team))
		switch {
		case err != nil:
			return err
		case i != nil && !e.Revokes(i.current().BotUserID):
			return fmt.Errorf("%w: tokens of others were revoked", slack.ErrIgnored)
		case i != nil:
			return i.revoke(ctx, r)
		}
	}
	own, err := w.Of(ctx, "")
	switch {
	case err != nil:
		return err
	case w.config.Slack.Installable() && team != own.Own.TeamID:
		return fmt.Errorf("%w: workspace %s", slack.ErrForeign, team)
	}
	return w.watch.Revoke(ctx, r)
}

// known returns the installation of a workspace or an organisation itself, or nil.
func (w *Workspaces) known(ctx context.Context, id string) (*installed, error) {
	s := w.store.Load()
	if s == nil {
		return nil, errNoDatabase
	}
	if err := w.reload(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return w.own(id), nil
}

// own is known as far as this program knows.
func (w *Workspaces) own(id string) *installed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[id]
}

// errNoDatabase says that nobody knows yet who has installed the app.
var errNoDatabase = errors.New("the database is not open yet")

// Grant records that an organisation has granted its installation to teams, or withdrawn it.
func (w *Workspaces) Grant(ctx context.Context, organisation string, teams []string, granted bool, at time.Time) error {
	if !w.config.Slack.Installable() {
		return fmt.Errorf("%w: nobody can install the app", slack.ErrIgnored)
	}
	i, err := w.known(ctx, organisation)
	if err != nil {
		return err
	}
	if i == nil {
		return fmt.Errorf("%w: organisation %s", slack.ErrForeign, organisation)
	}
	s := w.store.Load()
	for _, team := range teams {
		if granted {
			_, err = s.GrantTeam(ctx, organisation, team, "", at)
		} else {
			_, err = s.WithdrawTeam(ctx, organisation, team, at)
		}
		if err != nil {
			return err
		}
	}
	return w.reload(ctx, organisation)
}

// gauge counts the installations by state.
func (w *Workspaces) gauge() prometheus.Collector {
	count := prometheus.NewDesc("myao_installations", "Installations of the app by state: active, revoked (Slack does "+
		"not take the token), uninstalled, removed (by an operator).", []string{"state"}, nil)
	return telemetry.Gauges(func(_ context.Context, set telemetry.SetGauge) {
		counts := map[store.InstallationState]int{}
		for _, i := range w.all() {
			counts[i.current().State]++
		}
		for _, state := range store.InstallationStates {
			set(count, float64(counts[state]), string(state))
		}
	}, count)
}

// Lost are the installations whose tokens are lost, in order of id.
func (w *Workspaces) Lost() (lost []store.Installation) {
	now := w.clock()
	for _, i := range w.all() {
		if row := i.current(); row.Lost(now) {
			lost = append(lost, row)
		}
	}
	slices.SortFunc(lost, func(a, b store.Installation) int { return strings.Compare(a.ID, b.ID) })
	return lost
}

// all are the installations that are known.
func (w *Workspaces) all() []*installed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.byID))
}
