package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// Call is one finished call of a model and its cost.
type Call struct {
	// Scope is the conversation, or the scope of the memory, that the call was for.
	Scope    chat.Scope `json:"-"`
	Purpose  string     `json:"purpose"` // response, judgment, memory or shadow
	Provider string     `json:"provider,omitempty"`
	Model    string     `json:"model"`
	// TokensIn and TokensOut are what the provider counted, also for a failed call.
	TokensIn int `json:"tokens_in"`
	// TokensCached is the part of TokensIn that the provider had read before.
	TokensCached int           `json:"tokens_cached"`
	TokensOut    int           `json:"tokens_out"`
	Latency      time.Duration `json:"latency_ns"`
	// Error is the kind of failure; empty if the model answered.
	Error string `json:"error,omitempty"`
	// Decision is the key of the decision that the call was made for; empty for memory.
	Decision string `json:"-"`
	// Ended is when the call ended; zero means now.
	Ended time.Time `json:"-"`
}

type callRow struct {
	ID           int64 `gorm:"primaryKey;autoIncrement"`
	TeamID       string
	ChannelID    string
	ThreadTS     string
	Purpose      string
	Provider     string
	Model        string
	TokensIn     int
	TokensCached int
	TokensOut    int
	LatencyUS    int64
	Error        string
	Decision     string
	CalledUS     int64
}

func (callRow) TableName() string { return "model_calls" }

// SaveCall records a call.
func (s *Store) SaveCall(ctx context.Context, c Call) error {
	row := callRow{
		TeamID: c.Scope.Team, ChannelID: c.Scope.Channel, ThreadTS: c.Scope.Thread, Purpose: c.Purpose,
		Provider: c.Provider,
		Model:    c.Model, TokensIn: c.TokensIn, TokensCached: c.TokensCached, TokensOut: c.TokensOut,
		LatencyUS: c.Latency.Microseconds(),
		Error:     c.Error, Decision: c.Decision, CalledUS: microsOrZero(c.Ended),
	}
	if row.CalledUS == 0 {
		row.CalledUS = s.nowMicros()
	}
	written := clause.Returning{Columns: []clause.Column{{Name: "id"},
		{Name: s.asyncCommit() + " AS written", Raw: true}}}
	if err := s.db.WithContext(ctx).Clauses(written).Create(&row).Error; err != nil {
		return fmt.Errorf("record model call: %w", err)
	}
	return nil
}

// CallSummary is how many calls ended in one way, and their total duration.
type CallSummary struct {
	Error string // Call.Error
	Calls int
	Took  time.Duration
}

// CallSummaries summarises the calls of one purpose for a decision, one summary per kind of error.
func (s *Store) CallSummaries(ctx context.Context, decision, purpose string) ([]CallSummary, error) {
	var rows []struct {
		Error     string
		Calls     int
		LatencyUS int64
	}
	if err := s.db.WithContext(ctx).Model(&callRow{}).Where("decision = ? AND decision <> '' AND purpose = ?", decision,
		purpose).
		Select("error, COUNT(*) AS calls, SUM(latency_us) AS latency_us").Group("error").Order("error").Scan(&rows).
		Error; err != nil {
		return nil, fmt.Errorf("read calls for decision %s: %w", decision, err)
	}
	summaries := make([]CallSummary, len(rows))
	for i, r := range rows {
		summaries[i] = CallSummary{Error: r.Error, Calls: r.Calls, Took: time.Duration(r.LatencyUS) * time.Microsecond}
	}
	return summaries, nil
}

// NewestCalls returns at most limit calls that ended since a time, the newest first; those of shadow excepted.
// Of each it has purpose, provider, model, latency, error and end.
func (s *Store) NewestCalls(ctx context.Context, since time.Time, limit int) ([]Call, error) {
	var rows []callRow
	if err := s.db.WithContext(ctx).Where("called_us >= ? AND purpose <> ?", micros(since), purposeShadow).
		Order("called_us DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read the newest model calls: %w", err)
	}
	calls := make([]Call, len(rows))
	for i, r := range rows {
		calls[i] = Call{
			Purpose: r.Purpose, Provider: r.Provider, Model: r.Model,
			Latency: time.Duration(r.LatencyUS) * time.Microsecond,
			Error:   r.Error, Ended: time.UnixMicro(r.CalledUS),
		}
	}
	return calls, nil
}

// CheckCalls checks that calls can be recorded, by recording one and rolling back.
func (s *Store) CheckCalls(ctx context.Context) error {
	back := errors.New("rolled back")
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&callRow{}).Error; err != nil {
			return err
		}
		return back
	})
	if !errors.Is(err, back) {
		return fmt.Errorf("check that model calls can be recorded: %w", err)
	}
	return nil
}

// purposeShadow is that of calls that no channel's budget counts: llm.PurposeShadow.
const purposeShadow = "shadow"

// Spent is what the calls for a channel have cost since a time, those of shadow excepted: their number, and
// their tokens in both directions. A failed call without tokens does not count. Otherwise an outage of the provider
// would use up the day's limit.
func (s *Store) Spent(ctx context.Context, team, channel string, since time.Time) (calls, tokens int, err error) {
	var rows []Spending
	if err := runBatch(s.db.WithContext(ctx), spentQuery(team, channel, since, &rows)); err != nil {
		return 0, 0, fmt.Errorf("read what channel %s has cost: %w", channel, err)
	}
	return rows[0].Calls, rows[0].Tokens, nil
}

// SpentByChannel is Spent for each channel that has calls, by channel id.
func (s *Store) SpentByChannel(ctx context.Context, team string, since time.Time) (map[string]Spending, error) {
	var rows []struct {
		ChannelID string
		Spending
	}
	if err := s.db.WithContext(ctx).Model(&callRow{}).Where("team_id = ? AND called_us >= ? AND purpose <> ?", team,
		micros(since), purposeShadow).
		Select("channel_id, " + spending).Group("channel_id").Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read what channels have cost: %w", err)
	}
	spent := make(map[string]Spending, len(rows))
	for _, r := range rows {
		spent[r.ChannelID] = r.Spending
	}
	return spent, nil
}

// SpentByWorkspace is Spent for all calls of a workspace but those of other judges, which have a limit of
// their own. The upper bound is for Postgres: with it a generic plan expects few rows and uses the index,
// and with the lower bound alone a third of the ledger, which it would read whole.
func (s *Store) SpentByWorkspace(ctx context.Context, team string, since time.Time) (spent Spending, err error) {
	if err := s.db.WithContext(ctx).Model(&callRow{}).
		Where("called_us BETWEEN ? AND ? AND team_id = ? AND purpose <> ?", micros(since), int64(math.MaxInt64), team,
			purposeShadow).
		Select(spending).Scan(&spent).Error; err != nil {
		return Spending{}, fmt.Errorf("read what the workspace has cost: %w", err)
	}
	return spent, nil
}

// SpentOnShadow is what the calls of the judges of shadow have cost since a time.
func (s *Store) SpentOnShadow(ctx context.Context, since time.Time) (spent Spending, err error) {
	if err := s.db.WithContext(ctx).Model(&callRow{}).Where("called_us >= ? AND purpose = '"+purposeShadow+"'",
		micros(since)).
		Select(spending).Scan(&spent).Error; err != nil {
		return Spending{}, fmt.Errorf("read what shadow has cost: %w", err)
	}
	return spent, nil
}

// Spending is what some calls have cost.
type Spending struct {
	Calls  int `json:"calls"`
	Tokens int `json:"tokens"`
}

// spending is the columns of Spending.
const spending = `COUNT(CASE WHEN error = '' OR tokens_in + tokens_out > 0 THEN 1 END) AS calls, COALESCE(SUM(tokens_in + tokens_out), 0) AS tokens`

// spentQuery asks for Spent, in one row.
func spentQuery(team, channel string, since time.Time, into *[]Spending) query {
	return query{"SELECT " + spending +
		" FROM model_calls WHERE team_id = ? AND channel_id = ? AND called_us >= ? AND purpose <> '" + purposeShadow +
		"'", []any{team, channel, micros(since)}, into}
}
