package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/config"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// usageCommand sums up model calls and their cost.
type usageCommand struct {
	Since instant  `default:"30d" placeholder:"WHEN" help:"The start: 24h, 30d or 2026-03-01, for example (${default})."`
	Until instant  `placeholder:"WHEN" help:"The end (now)."`
	By    []string `default:"day" enum:"day,team,channel,purpose,provider,model" placeholder:"WHAT,…" help:"Group by day, team, channel, purpose (response, judgment, memory, shadow), provider or model (${default})."`
	Team  teamID   `placeholder:"ID" help:"The id of a workspace, T…: only its calls. Without it, those of all."`
	output
}

// Help implements kong's Help.
func (usageCommand) Help() string {
	return `Examples:
  starter usage                                    the last 30 days, day by day
  starter usage --since 7d --by channel,purpose
  starter usage --since 2026-03-01 --until 2026-04-01 --by model --json
  starter usage --by team                          where there are several workspaces

Days are those of time_zone. The cost is by llm.prices, which are for a million tokens. CACHED is the part of TOKENS IN
that the provider had read before, where it says so. UP and DOWN are what people
voted about replies in that time; nothing shows who.`
}

// usage is the total of some model calls, and of the votes about what they wrote.
type usage struct {
	Day  string `json:"day,omitempty"`
	Team string `json:"team,omitempty"`
	store.Usage
	ChannelName string `json:"channel_name,omitempty"`
	// Cost covers the models whose price is known; nil if there are none.
	Cost *float64 `json:"cost,omitempty"`
	// Unpriced lists the other models.
	Unpriced []string `json:"unpriced,omitempty"`
}

// usageReport is the output of the command.
type usageReport struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	By    []string  `json:"by"`
	Rows  []usage   `json:"rows"`
	Total usage     `json:"total"`
}

func (c *usageCommand) run(ctx context.Context, p *program) error {
	zone, now := p.Config.Location(), time.Now()
	report := usageReport{Until: now, By: c.By, Rows: []usage{}}
	var err error
	if report.Since, err = c.Since.time(now, zone); err != nil {
		return err
	}
	if c.Until != "" {
		if report.Until, err = c.Until.time(now, zone); err != nil {
			return err
		}
	}
	if !report.Since.Before(report.Until) {
		return fmt.Errorf("--since %s is not before --until %s", report.Since.In(zone).Format(time.RFC3339),
			report.Until.In(zone).Format(time.RFC3339))
	}
	db, err := p.database(ctx)
	if err != nil {
		return err
	}
	if err := report.read(ctx, db, string(c.Team), p.Config.LLM.Prices, zone); err != nil {
		return err
	}
	return c.print(p.stdout, report, func(w io.Writer) error { return report.text(w, zone) })
}

// read fills the report, by day if that is asked for; of one workspace unless team is empty. Go computes where a day
// begins, because not every database can.
func (r *usageReport) read(ctx context.Context, db *store.Store, team string, prices map[string]config.Price,
	zone *time.Location) error {
	names := map[usageKey]string{}
	for from := r.Since; from.Before(r.Until); {
		to, day := r.Until, ""
		if slices.Contains(r.By, "day") {
			local := from.In(zone)
			day = local.Format(time.DateOnly)
			year, month, date := local.Date()
			if end := config.Midnight(year, month, date+1, zone); end.Before(to) {
				to = end
			}
		}
		sums, err := db.Usage(ctx, from, to)
		if err != nil {
			return err
		}
		rows := map[usageKey]*usage{}
		for _, s := range sums {
			if team != "" && s.TeamID != team {
				continue
			}
			key := r.key(s)
			if rows[key] == nil {
				name, err := r.name(ctx, db, names, s)
				if err != nil {
					return err
				}
				rows[key] = &usage{
					Day: day, ChannelName: name,
					Usage: store.Usage{ChannelID: key.channel, Purpose: key.purpose, Provider: key.provider,
						Model: key.model},
				}
				if slices.Contains(r.By, "team") {
					rows[key].Team = key.team
				}
			}
			rows[key].add(s, prices)
			r.Total.add(s, prices)
		}
		for _, key := range slices.SortedFunc(maps.Keys(rows), usageKey.compare) {
			r.Rows = append(r.Rows, *rows[key])
		}
		from = to
	}
	return nil
}

// usageKey is the key of a row within a day. Channels of two workspaces may have the same id.
type usageKey struct{ team, channel, purpose, provider, model string }

func (k usageKey) compare(other usageKey) int {
	return cmp.Or(strings.Compare(k.team, other.team), strings.Compare(k.channel, other.channel),
		strings.Compare(k.purpose, other.purpose), strings.Compare(k.provider, other.provider),
		strings.Compare(k.model, other.model))
}

func (r *usageReport) key(s store.Usage) (k usageKey) {
	for _, by := range r.By {
		switch by {
		case "team":
			k.team = s.TeamID
		case "channel":
			k.team, k.channel = s.TeamID, cmp.Or(s.ChannelID, "workspace")
		case "purpose":
			k.purpose = s.Purpose
		case "provider":
			k.provider = s.Provider
		case "model":
			k.model = s.Model
		}
	}
	return k
}

// name returns the name of a channel, if the report is by channel.
func (r *usageReport) name(ctx context.Context, db *store.Store, names map[usageKey]string,
	s store.Usage) (string, error) {
	if s.ChannelID == "" || !slices.Contains(r.By, "channel") {
		return "", nil
	}
	at := usageKey{team: s.TeamID, channel: s.ChannelID}
	if name, known := names[at]; known {
		return name, nil
	}
	channels, err := db.Channels(ctx, s.TeamID, []string{s.ChannelID})
	names[at] = channels[s.ChannelID].Name
	return names[at], err
}

func (u *usage) add(s store.Usage, prices map[string]config.Price) {
	u.Calls += s.Calls
	u.Failed += s.Failed
	u.TokensIn += s.TokensIn
	u.TokensCached += s.TokensCached
	u.TokensOut += s.TokensOut
	u.Up += s.Up
	u.Down += s.Down
	if s.Calls == 0 { // votes alone
		return
	}
	cost := timeline.Cost(prices, s.Model, s.TokensIn, s.TokensCached, s.TokensOut)
	switch {
	case cost == nil && !slices.Contains(u.Unpriced, s.Model):
		u.Unpriced = append(u.Unpriced, s.Model)
		slices.Sort(u.Unpriced)
	case cost != nil && u.Cost == nil:
		u.Cost = cost
	case cost != nil:
		*u.Cost += *cost
	}
}

// cost is "-" if no price is known. It says so if some prices are not known.
func (u *usage) cost() string {
	switch {
	case u.Cost == nil:
		return "-"
	case len(u.Unpriced) > 0:
		return timeline.Money(*u.Cost) + " and more"
	}
	return timeline.Money(*u.Cost)
}

func (r *usageReport) text(w io.Writer, zone *time.Location) error {
	if _, err := fmt.Fprintf(w, "from %s until %s\n\n", r.Since.In(zone).Format(time.RFC3339), r.Until.In(zone).
		Format(time.RFC3339)); err != nil {
		return err
	}
	heading := []string{}
	for _, by := range r.By {
		heading = append(heading, strings.ToUpper(by))
	}
	cached := func(cell string) []string {
		if r.Total.TokensCached == 0 {
			return nil
		}
		return []string{cell}
	}
	rows := [][]string{slices.Concat(heading, []string{"CALLS", "FAILED", "TOKENS IN"}, cached("CACHED"),
		[]string{"TOKENS OUT", "COST", "UP", "DOWN"})}
	for _, u := range append(slices.Clone(r.Rows), r.Total) {
		row := u.labels(r.By)
		row = append(row, strconv.Itoa(u.Calls), strconv.Itoa(u.Failed), strconv.Itoa(u.TokensIn))
		rows = append(rows, slices.Concat(row, cached(strconv.Itoa(u.TokensCached)),
			[]string{strconv.Itoa(u.TokensOut), u.cost(), strconv.Itoa(u.Up), strconv.Itoa(u.Down)}))
	}
	rows[len(rows)-1][0] = "total"
	if err := table(w, rows); err != nil || len(r.Total.Unpriced) == 0 {
		return err
	}
	unpriced := make([]string, len(r.Total.Unpriced))
	for i, model := range r.Total.Unpriced {
		unpriced[i] = timeline.Plain(cmp.Or(model, "(no name)"))
	}
	_, err := fmt.Fprintf(w, "\nnot in the cost, because llm.prices lacks them: %s\n", strings.Join(unpriced, ", "))
	return err
}

// labels returns the cells for what a row is grouped by.
func (u *usage) labels(by []string) (cells []string) {
	channel := timeline.Plain(u.ChannelID)
	if u.ChannelName != "" {
		channel += " #" + timeline.Plain(u.ChannelName)
	}
	all := map[string]string{"day": u.Day, "team": u.Team, "channel": channel, "purpose": u.Purpose, "provider": u.Provider,
		"model": timeline.Plain(u.Model)}
	for _, what := range by {
		cells = append(cells, all[what])
	}
	return cells
}
