package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"myao/internal/chat"
	"myao/internal/language/terms"
)

// SearchQuery says what Search looks for.
type SearchQuery struct {
	Team string
	// Here is the channel of the reader; nothing is found that readers there may not see.
	Here string
	// Text holds the words; any of them may match.
	Text string
	// Channel and Authors restrict where and by whom it was said: ids, empty for any. An app is the
	// author by its user id, or by its bot id if it has none.
	Channel string
	Authors []string
	// From and To restrict when it was sent: from From on and before To. The zero time means any.
	From, To time.Time
	Limit    int
}

// SaidBeforeQuery says what SaidBefore looks for.
type SaidBeforeQuery struct {
	Team, Here string // as in SearchQuery
	// Texts is what is to be answered.
	Texts []string
	// Except are messages of the channel Here, by ts, that are not to be found.
	Except []string
	Limit  int
}

const (
	// newestMatches is how many matches of one term are considered, and of all terms together. Of
	// more, the newest are.
	newestMatches = 2000
	// maxSought is the most terms that a search uses.
	maxSought = 24
	// rarest is how many terms SaidBefore uses.
	rarest = 8
	// fullMatches is in about how many messages all terms together may stand that are looked for in
	// every message. The more common ones are looked for in the newest messages only, and in those
	// that have two of them.
	fullMatches = 3000
	// pairMatches is in how many messages the rarer one of two common terms may stand.
	pairMatches = 50_000
	// newestMessages are those of the workspace in which the more common terms are looked for. Which terms are common
	// is counted in all workspaces together, as the index has all.
	newestMessages = 20_000
	// The usual parameters of BM25: how much repetition and length count.
	bm25K1, bm25B = 1.2, 0.75
)

// Search finds messages with any of a text's words, those with more and rarer words first
// (BM25, each word counted once a message). Deleted and forgotten messages are never found, others
// within seconds after they were stored.
//
// A channel's messages are found in it, and those of public channels also elsewhere, as seenFrom and
// keptFrom say. Both databases find the same messages in the same order.
func (s *Store) Search(ctx context.Context, q SearchQuery) ([]chat.Found, error) {
	asked := terms.Query(q.Text)
	if len(asked) > maxSought {
		asked = asked[:maxSought]
	}
	f := finding{team: q.Team, here: q.Here, from: microsOrZero(q.From), to: math.MaxInt64, limit: q.Limit,
		use: len(asked) + 1}
	if !q.To.IsZero() {
		f.to = micros(q.To) - 1
	}
	if q.Channel != "" {
		f.must = append(f.must, []string{channelTerm(q.Channel)})
	}
	if len(q.Authors) > 0 {
		var authors []string
		for _, id := range q.Authors {
			authors = append(authors, authorTerm(id))
		}
		f.must = append(f.must, authors)
	}
	common, err := s.commonTerms(ctx)
	if err == nil {
		f.seek(asked, common)
	}
	return s.find(ctx, f, err)
}

// SaidBefore finds messages with any of the rarest words of some texts, by others than this bot, in
// the order of Search. It is one statement.
func (s *Store) SaidBefore(ctx context.Context, q SaidBeforeQuery) ([]chat.Found, error) {
	f := finding{team: q.Team, here: q.Here, to: math.MaxInt64, limit: q.Limit, use: rarest, others: true,
		except: q.Except}
	common, err := s.commonTerms(ctx)
	if err == nil {
		f.sought = slices.DeleteFunc(terms.Query(q.Texts...),
			func(t terms.Term) bool { return common.messages[t.Text] > 0 })
	}
	return s.find(ctx, f, err)
}

// commonTerms is in about how many messages each common term stands.
type commonTerms struct {
	messages map[string]int64
	read     time.Time
}

// commonTermsAge is how long the common terms are not read again. They change slowly.
const commonTermsAge = 10 * time.Minute

func (s *Store) commonTerms(ctx context.Context) (*commonTerms, error) {
	now := s.now()
	if known := s.common.Load(); known != nil && now.Sub(known.read) < commonTermsAge {
		return known, nil
	}
	var rows []commonRow
	if err := s.db.WithContext(ctx).Find(&rows).Error; err != nil {
		return nil, err
	}
	known := &commonTerms{messages: make(map[string]int64, len(rows)), read: now}
	for _, r := range rows {
		known.messages[r.Term] = r.Messages
	}
	s.common.Store(known)
	return known, nil
}

// finding is one search.
type finding struct {
	team, here string
	// must restricts the matches: each has one term of each list.
	must [][]string
	// sought are looked for in all messages. The use rarest of them count, or of them and pair.
	sought []terms.Term
	use    int
	// common are looked for in the newest messages up to to. pair is two of them that are looked for
	// together in all messages; nil for none.
	common []commonTerm
	pair   []terms.Term
	// from and to are the first and the last id.
	from, to int64
	others   bool // leave out the bot's own messages
	except   []string
	limit    int
}

type commonTerm struct {
	terms.Term
	messages int64
}

// seek decides where each term is looked for.
func (f *finding) seek(asked []terms.Term, common *commonTerms) {
	if len(f.must) > 0 { // few messages match in any case
		f.sought = asked
		return
	}
	rarestFirst := slices.Clone(asked)
	slices.SortStableFunc(rarestFirst,
		func(a, b terms.Term) int { return cmp.Compare(common.messages[a.Text], common.messages[b.Text]) })
	all := int64(0)
	for _, t := range rarestFirst {
		n := common.messages[t.Text]
		if all += n; all <= fullMatches {
			f.sought = append(f.sought, t)
		} else {
			f.common = append(f.common, commonTerm{t, n})
		}
	}
	if len(f.common) > 1 && f.common[0].messages <= pairMatches {
		f.pair = []terms.Term{f.common[0].Term, f.common[1].Term}
	}
}
