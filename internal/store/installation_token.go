package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// LeaseRefresh lets one process refresh an active installation's token until a time, and returns the installation as it
// is then: a refresh token serves once, and the one read before may have served. It returns false if somebody else
// holds the lease, or the installation is of another generation. A lease that ran out may be taken. who is unique for
// each attempt.
func (s *Store) LeaseRefresh(ctx context.Context, id string, generation int64, who string,
	until time.Time) (Installation, bool, error) {
	now := s.nowMicros()
	i, ok, err := s.updateInstallation(ctx, map[string]any{"lease": who, "leased_until_us": micros(until), "changed_us": now},
		"id = ? AND generation = ? AND state = 'active' AND leased_until_us <= ?", id, generation, now)
	if err != nil {
		return Installation{}, false, fmt.Errorf("lease the token of %s: %w", id, err)
	}
	return i, ok, nil
}

// SaveTokens saves a pair of tokens, ends the lease, and returns the installation as it is then. It returns false, and
// saves nothing, unless who holds the lease (it may have run out, if nobody has taken it since) and the installation is
// of the generation.
func (s *Store) SaveTokens(ctx context.Context, id string, generation int64, who string,
	t Tokens) (Installation, bool, error) {
	columns := t.columns()
	maps.Copy(columns, map[string]any{"lease": "", "leased_until_us": 0, "changed_us": s.nowMicros()})
	i, ok, err := s.updateInstallation(ctx, columns, "id = ? AND generation = ? AND lease = ? AND lease <> ''", id,
		generation, who)
	if err != nil {
		return Installation{}, false, fmt.Errorf("save the tokens of %s: %w", id, err)
	}
	return i, ok, nil
}

// updateInstallation sets columns of the installation that matches, and returns it as it is then; false if none does.
func (s *Store) updateInstallation(ctx context.Context, columns map[string]any, match string,
	values ...any) (Installation, bool, error) {
	var rows []installationRow
	whole, err := returningAll[installationRow](s.db)
	if err == nil {
		err = s.db.WithContext(ctx).Model(&rows).Clauses(whole).Where(match, values...).Updates(columns).Error
	}
	if err != nil || len(rows) == 0 {
		return Installation{}, false, err
	}
	return rows[0].installation(), true, nil
}

// errMoved says that an installation's tokens are not those that were read.
var errMoved = errors.New("its tokens keep changing")

// Reseal replaces every token by what reseal makes of it, and returns how many installations that has changed. What
// reseal returns as it is stays. Tokens that were saved in the meantime are resealed, too. It may be stopped at any
// time, and repeated.
func (s *Store) Reseal(ctx context.Context, reseal func(id string, sealed []byte) ([]byte, error)) (n int, err error) {
	err = s.EachInstallation(ctx, func(i Installation) error {
		changed, err := s.resealOne(ctx, i, reseal)
		if err != nil {
			return fmt.Errorf("reseal the tokens of %s: %w", i.ID, err)
		}
		if changed {
			n++
		}
		return nil
	})
	return n, err
}

func (s *Store) resealOne(ctx context.Context, i Installation,
	reseal func(id string, sealed []byte) ([]byte, error)) (changed bool, err error) {
	for range 10 {
		with := i.Tokens
		for _, sealed := range []*[]byte{&with.Token, &with.Refresh} {
			if len(*sealed) == 0 {
				continue
			}
			if *sealed, err = reseal(i.ID, *sealed); err != nil {
				return false, err
			}
		}
		if bytes.Equal(with.Token, i.Token) && bytes.Equal(with.Refresh, i.Refresh) {
			return false, nil
		}
		columns := with.columns()
		columns["changed_us"] = s.nowMicros()
		saved := s.db.WithContext(ctx).Model(&installationRow{}).
			Where("id = ? AND token = ? AND refresh_token = ?", i.ID, orEmpty(i.Token), orEmpty(i.Refresh)).
			Updates(columns)
		if saved.Error != nil || saved.RowsAffected > 0 {
			return saved.Error == nil, saved.Error
		}
		switch i, err = s.Installation(ctx, i.ID); {
		case errors.Is(err, ErrNotFound): // purged
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return false, errMoved
}
