package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"myao/internal/config"
	"myao/internal/operate/timeline"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

// channelsCommand lists channels, or explains the settings of one.
type channelsCommand struct {
	Channel string `arg:"" optional:"" help:"The channel: its id, or its name with or without #. Without it, all channels are listed."`
	teamFlag
	output
}

// Help implements kong's Help.
func (channelsCommand) Help() string {
	return `Examples:
  starter channels                  the channels that the bot is in or that the configuration names
  starter channels '#general'       every setting of one channel, and the line in the file that sets it
  starter channels --team T0123456789 support   the same in one of several workspaces
  starter channels --json | jq '.[] | select(.known | not) | .channel'`
}

// channelReport is one channel with its settings.
type channelReport struct {
	Channel string `json:"channel"` // the id, or the key in the configuration if the database does not know the channel
	Name    string `json:"channel_name,omitempty"`
	Known   bool   `json:"known"`  // to the database
	Member  bool   `json:"member"` // the bot is in it
	Private bool   `json:"private"`
	// External is set while people of other companies are in it.
	External bool `json:"external"`
	// OrgShared is set while people of other workspaces of the organisation are in it and count as
	// external, and Outsiders counts the guests and others in it who may know only their channels.
	OrgShared bool `json:"org_shared"`
	Outsiders int  `json:"outsiders"`

	Mode        config.Mode     `json:"mode"`
	Remember    config.Remember `json:"remember"`
	QuietHours  string          `json:"quiet_hours,omitempty"`
	TimeZone    string          `json:"time_zone"`
	DailyCalls  int             `json:"daily_calls"`  // 0: no limit
	DailyTokens int             `json:"daily_tokens"` // 0: no limit
	CallsToday  int             `json:"calls_today"`
	TokensToday int             `json:"tokens_today"`
	// File and Settings are set only in the report of a single channel.
	File     string           `json:"file,omitempty"`
	Settings []config.Setting `json:"settings,omitempty"`
	// Team is the workspace, and WorkspaceSettings are its own, where the configuration has some for workspaces.
	Team              string           `json:"team,omitempty"`
	WorkspaceSettings []config.Setting `json:"workspace_settings,omitempty"`
}

func (c *channelsCommand) run(ctx context.Context, p *program) error {
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	team, err := p.choose(ctx, db, c.Channel)
	if err != nil {
		return err
	}
	r := channelReader{config: p.Config, store: db, team: team, now: time.Now(),
		spent: map[int64]map[string]store.Spending{}}
	if r.outsiders, err = db.OutsidersIn(ctx, team); err != nil {
		return err
	}
	spent, err := db.SpentByWorkspace(ctx, team, p.Config.StartOfDay(r.now))
	if err != nil {
		return err
	}
	limit := p.Config.WorkspaceBudget()
	workspace := fmt.Sprintf("\nThe whole workspace: today %s model calls, %s tokens\n", used(spent.Calls, limit.Calls),
		used(spent.Tokens, limit.Tokens))
	if c.Channel == "" {
		all, err := r.all(ctx)
		if err != nil {
			return err
		}
		return c.print(p.stdout, all, func(w io.Writer) error { return listChannels(w, all, workspace) })
	}
	one, err := r.one(ctx, c.Channel)
	if err != nil {
		return err
	}
	return c.print(p.stdout, one, func(w io.Writer) error { return one.text(w, workspace) })
}

type channelReader struct {
	config config.Config
	store  *store.Store
	team   string
	now    time.Time
	// outsiders counts those in each channel that has any.
	outsiders map[string]int
	// spent is the cost of today by channel, by the start of the day in Unix microseconds. Few
	// time zones mean few starts.
	spent map[int64]map[string]store.Spending
}

// all reports the channels that the bot is in, and others that the configuration names.
func (r channelReader) all(ctx context.Context) ([]channelReport, error) {
	in, err := r.store.Memberships(ctx, r.team)
	if err != nil {
		return nil, err
	}
	reports, listed := []channelReport{}, map[string]bool{}
	for _, c := range in {
		report, err := r.report(ctx, c, true)
		if err != nil {
			return nil, err
		}
		reports, listed[c.ID] = append(reports, report), true
	}
	for _, key := range r.config.File.Channels() {
		c, known, err := r.find(ctx, key)
		if err != nil {
			return nil, err
		}
		if listed[c.ID] {
			continue
		}
		report, err := r.report(ctx, c, known)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// one reports a channel that the database knows, or that the configuration names, with its settings.
func (r channelReader) one(ctx context.Context, named string) (channelReport, error) {
	c, known, err := r.find(ctx, named)
	if err != nil {
		return channelReport{}, err
	}
	report, err := r.report(ctx, c, known)
	f, failed := r.facts(ctx, c)
	if err = errors.Join(err, failed); err != nil {
		return channelReport{}, err
	}
	report.File, report.Settings = r.config.File.Path, r.config.Explain(f)
	if report.WorkspaceSettings = r.config.ExplainWorkspace(); report.WorkspaceSettings != nil {
		report.Team = r.team
	}
	return report, nil
}

// facts are what the settings of a channel depend on.
func (r channelReader) facts(ctx context.Context, c store.Channel) (config.ChannelFacts, error) {
	f := channels.SettingsFacts(c)
	sets, err := r.store.SetIn(ctx, r.team, c.ID)
	f.Set = sets[c.ID]
	return f, err
}

// find finds a channel by its id or name. One that only the configuration names gets its key as
// both.
func (r channelReader) find(ctx context.Context, named string) (c store.Channel, known bool, err error) {
	id, err := resolveChannel(ctx, r.store, r.team, named)
	if err != nil {
		if r.config.ChannelKey(config.ChannelFacts{ID: named, Name: named}) != "" {
			return store.Channel{ID: named, Name: named}, false, nil
		}
		return store.Channel{}, false, err
	}
	stored, err := r.store.Channels(ctx, r.team, []string{id})
	return stored[id], true, err
}

func (r channelReader) report(ctx context.Context, c store.Channel, known bool) (channelReport, error) {
	f, err := r.facts(ctx, c)
	if err != nil {
		return channelReport{}, err
	}
	s := r.config.Channel(f)
	report := channelReport{
		Channel: c.ID, Name: c.Name, Known: known, Member: c.Member, Private: c.Private, External: c.External,
		OrgShared: c.OrgShared, Outsiders: r.outsiders[c.ID],
		Mode: s.Mode, Remember: s.Remember, QuietHours: s.QuietHours.String(), TimeZone: s.Zone.String(),
		DailyCalls: s.DailyCalls, DailyTokens: s.DailyTokens,
	}
	if !known {
		report.Name = ""
		return report, nil
	}
	day := s.StartOfDay(r.now)
	if r.spent[day.UnixMicro()] == nil {
		spent, err := r.store.SpentByChannel(ctx, r.team, day)
		if err != nil {
			return report, err
		}
		r.spent[day.UnixMicro()] = spent
	}
	today := r.spent[day.UnixMicro()][c.ID]
	report.CallsToday, report.TokensToday = today.Calls, today.Tokens
	return report, nil
}

func listChannels(w io.Writer, all []channelReport, workspace string) error {
	rows := [][]string{{"CHANNEL", "NAME", "KIND", "MODE", "REMEMBER", "QUIET HOURS", "CALLS TODAY", "TOKENS TODAY"}}
	for _, c := range all {
		rows = append(rows, []string{
			timeline.Plain(c.Channel), cmp.Or(timeline.Plain(c.Name), "–"), c.kind(), string(c.Mode),
			string(c.Remember), c.quiet(),
			used(c.CallsToday, c.DailyCalls), used(c.TokensToday, c.DailyTokens),
		})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, workspace)
	return err
}

// kind describes a channel in a word or two.
func (c channelReport) kind() string {
	switch {
	case !c.Known:
		return "unknown"
	case !c.Member:
		return "left"
	}
	var words []string
	for _, w := range []struct {
		word string
		is   bool
	}{{"private", c.Private}, {"shared", c.External}, {"org-shared", c.OrgShared}, {"guests", c.Outsiders > 0}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return cmp.Or(strings.Join(words, ", "), "public")
}

// external says why the channel counts as external; empty if it does not.
func (c channelReport) external() string {
	var why []string
	if c.External {
		why = append(why, "it is shared with another company")
	}
	if c.OrgShared {
		why = append(why, "it is shared within the organisation (slack.other_workspaces)")
	}
	if c.Outsiders > 0 {
		why = append(why, fmt.Sprintf("guests or people of other workspaces known in it: %d", c.Outsiders))
	}
	return strings.Join(why, "; ")
}

func (c channelReport) quiet() string {
	if c.QuietHours == "" {
		return "–"
	}
	return c.QuietHours + " " + c.TimeZone
}

// used formats how much of a budget was used. Without a limit it is only what was used.
func used(today, most int) string {
	if most == 0 {
		return strconv.Itoa(today)
	}
	return fmt.Sprintf("%d of %d", today, most)
}

// text writes the report as text, with a line about the workspace.
func (c channelReport) text(w io.Writer, workspace string) error {
	name := timeline.Plain(c.Channel)
	if c.Name != "" {
		name += " #" + timeline.Plain(c.Name)
	}
	if _, err := fmt.Fprintf(w, "%s, %s; today %s model calls, %s tokens%s\n", name, c.kind(),
		used(c.CallsToday, c.DailyCalls), used(c.TokensToday, c.DailyTokens), workspace); err != nil {
		return err
	}
	if why := c.external(); why != "" {
		if _, err := fmt.Fprintf(w, "Counts as external, so nothing of other channels is known there: %s\n\n",
			why); err != nil {
			return err
		}
	}
	if err := c.settings(w, "SETTING", c.Settings); err != nil || c.Team == "" {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return c.settings(w, "SETTING OF "+timeline.Plain(c.Team), c.WorkspaceSettings)
}

// settings writes a table of settings.
func (c channelReport) settings(w io.Writer, title string, settings []config.Setting) error {
	rows := [][]string{{title, "VALUE", "FROM"}}
	for _, s := range settings {
		from := s.From
		if s.Line > 0 {
			from = fmt.Sprintf("%s:%d %s", c.File, s.Line, s.From)
		}
		for _, name := range s.Variables {
			from += " $" + name
		}
		if s.Before != nil {
			from = fmt.Sprintf("%s, by %s at %s; before: %s", s.From, s.By, s.At.Format(time.RFC3339),
				cmp.Or(short(*s.Before), "–"))
		}
		rows = append(rows, []string{s.Key, cmp.Or(short(timeline.Plain(s.Value)), "–"), timeline.Plain(from)})
	}
	return table(w, rows)
}

// short cuts a text to fit in a column.
func short(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
