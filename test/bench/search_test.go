package bench

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"myao/internal/store"
	"myao/test/testserver"
)

const (
	// searchWords is how many words of a message there are in all, searchVocabulary how many words the
	// workspace uses. The n-th most frequent stands in about every n-th message.
	searchWords, searchVocabulary = 12, 50_000
	// searchChannels have the messages in turn; every tenth is private.
	searchChannels = 500
)

// searchDB is a database with a number of indexed messages.
type searchDB struct {
	b       *bench
	store   *store.Store
	db      *sql.DB
	words   *rand.Rand
	indexed float64 // messages a second
}

func openSearchDB(b *bench, messages int) *searchDB {
	b.Helper()
	s, db := openStore(b)
	l := &searchDB{b: b, store: s, db: db, words: rand.New(rand.NewPCG(1, 2))}
	numbers := strings.NewReplacer("@channels", fmt.Sprint(searchChannels), "@words", fmt.Sprint(searchWords), "@vocabulary", fmt.Sprint(searchVocabulary), "@noon", fmt.Sprint(contextNoon.UnixMicro()), "@n", fmt.Sprint(messages))
	l.exec(numbers.Replace(`INSERT INTO channels (team_id, channel_id, name, private, refreshed_us, member)
		SELECT 'T1', 'C' || i, 'channel-' || i, i % 10 = 0, @noon, TRUE FROM generate_series(0, @channels - 1) i`))
	l.exec(numbers.Replace(`INSERT INTO messages (team_id, channel_id, ts, sent_us, user_id, text, handled, stored_us)
		SELECT 'T1', 'C' || i % @channels, (sent_us / 1000000)::text || '.000100', sent_us, 'U' || i % 1000,
			(SELECT STRING_AGG('w' || FLOOR(EXP(RANDOM() * LN(@vocabulary)))::int, ' ') FROM generate_series(1, @words) WHERE i >= 0), TRUE, sent_us
		FROM (SELECT i, @noon - (@n - i) * 1000000::bigint AS sent_us FROM generate_series(0, @n - 1) i) m`))
	l.exec("VACUUM ANALYZE")
	began := time.Now()
	for {
		p, err := s.Index(b.Context(), time.Time{}, 500)
		testserver.Must(b, err)
		if p.CaughtUp {
			break
		}
	}
	l.indexed = float64(messages) / time.Since(began).Seconds()
	l.exec("VACUUM ANALYZE")
	l.exec("CHECKPOINT")
	return l
}

func (l *searchDB) exec(statement string) {
	l.b.Helper()
	if _, err := l.db.ExecContext(l.b.Context(), statement); err != nil {
		l.b.Fatalf("%v\n%s", err, statement)
	}
}

// measureSearch measures searches for one to three words, and for what was said before a message.
func measureSearch(b *bench) []row {
	small, large := openSearchDB(b, 10_000), openSearchDB(b, b.scaled(1_000_000, 20_000))
	searches := b.scaled(500, 20)
	small.search(searches)
	large.search(searches)
	small.saidBefore(searches)
	large.saidBefore(searches)
	var found, tails, foundSmall, before, beforeTails, beforeSmall []float64
	for range b.rounds {
		foundSmall = append(foundSmall, milliseconds(quantile(small.search(searches), 0.5)))
		took := large.search(searches)
		found, tails = append(found, milliseconds(quantile(took, 0.5))), append(tails, milliseconds(quantile(took, 0.99)))
		beforeSmall = append(beforeSmall, milliseconds(quantile(small.saidBefore(searches), 0.5)))
		took = large.saidBefore(searches)
		before, beforeTails = append(before, milliseconds(quantile(took, 0.5))), append(beforeTails, milliseconds(quantile(took, 0.99)))
	}
	return []row{
		newRow("search, 10⁶ messages", "ms", atMost(20, "ms"), found...).
			withNote("p99 %s ms; in 10⁴ messages %s ms; %s messages a second are indexed at first", number(median(tails)), number(median(foundSmall)), number(large.indexed)),
		newRow("said before, 10⁶ messages", "ms", atMost(20, "ms"), before...).
			withNote("p99 %s ms; in 10⁴ messages %s ms", number(median(beforeTails)), number(median(beforeSmall))),
	}
}

// word returns a word; the n-th most frequent one is asked for as often as it is used, except the 20
// most frequent ones, which say nothing.
func (l *searchDB) word() string {
	return fmt.Sprint("w", int(20*math.Exp(l.words.Float64()*math.Log(searchVocabulary/20))))
}

func (l *searchDB) search(n int) (took []time.Duration) {
	l.b.Helper()
	for i := range n {
		text := l.word()
		for range i % 3 {
			text += " " + l.word()
		}
		began := time.Now()
		_, err := l.store.Search(l.b.Context(), store.SearchQuery{Team: "T1", Here: fmt.Sprint("C", i%searchChannels), Text: text, Limit: 20})
		took = append(took, time.Since(began))
		testserver.Must(l.b, err)
	}
	return took
}

func (l *searchDB) saidBefore(n int) (took []time.Duration) {
	l.b.Helper()
	for i := range n {
		var words []string
		for range searchWords {
			words = append(words, fmt.Sprint("w", int(math.Exp(l.words.Float64()*math.Log(searchVocabulary)))))
		}
		began := time.Now()
		_, err := l.store.SaidBefore(l.b.Context(), store.SaidBeforeQuery{Team: "T1", Here: fmt.Sprint("C", i%searchChannels), Texts: []string{strings.Join(words, " ")}, Limit: 8})
		took = append(took, time.Since(began))
		testserver.Must(l.b, err)
	}
	return took
}
