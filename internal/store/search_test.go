package store

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
	"myao/internal/language/terms"
)

// index brings the search index up to date.
func (db database) index(t *testing.T) {
	t.Helper()
	for {
		p, err := db.Index(t.Context(), time.Time{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		if p.CaughtUp {
			return
		}
	}
}

// found is the texts that a search finds, in order. Team and the reader's channel have defaults.
func (db database) found(t *testing.T, q SearchQuery) []string {
	t.Helper()
	q.Team = team
	if q.Here == "" {
		q.Here = channel
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	found, err := db.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return textsOf(found)
}

func textsOf(found []chat.Found) []string {
	return mapRows(found, func(m chat.Found) string { return m.Text })
}

func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: found\n%q, want\n%q", what, got, want)
	}
}

// write is a message of a channel, n seconds after noon.
func write(n int, in, user, text string) chat.Message {
	return chat.Message{Team: team, Channel: in, TS: at(n), UserID: user, Text: text}
}

func publicChannels(t *testing.T, db database, ids ...string) {
	t.Helper()
	var listed []Channel
	for _, id := range ids {
		listed = append(listed, Channel{ID: id, Name: "name of " + id})
	}
	db.sync(t, listed...)
}

func TestSearch(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel, "C2")
		own := write(9, "C2", "UBOT", "I said that the deployment is frozen")
		own.Own = true
		file := write(10, "C2", "U2", "look")
		file.Files = []chat.File{{ID: "F1", Name: "zanzibar-runbook.pdf"}}
		reply := write(11, "C2", "U2", "frozen in the thread")
		reply.ThreadTS = at(1)
		other := write(1, channel, "U3", "the same instant, in another place")
		db.store(t,
			write(1, "C2", "U2", "We never deploy on Fridays"), write(2, "C2", "U3", "lunch on Friday?"), write(3, channel, "U1", "the database is slow"),
			write(4, "C2", "U2", "本番環境へのデプロイは金曜日に行わない"), write(5, "C2", "U2", "黒猫"), own, file, reply, other,
			chat.Message{Team: "T2", Channel: "C2", TS: at(1), UserID: "U1", Text: "deploy in another workspace"},
		)
		db.index(t)
		for what, test := range map[string]struct {
			query SearchQuery
			want  []string
		}{
			"other forms of a word":         {SearchQuery{Text: "Deployments"}, []string{own.Text, "We never deploy on Fridays"}},
			"any word, more words first":    {SearchQuery{Text: "friday deploying"}, []string{"We never deploy on Fridays", "lunch on Friday?", own.Text}},
			"Japanese":                      {SearchQuery{Text: "デプロイ"}, []string{"本番環境へのデプロイは金曜日に行わない"}},
			"one character":                 {SearchQuery{Text: "猫"}, []string{"黒猫"}},
			"one character at a beginning":  {SearchQuery{Text: "金"}, []string{"本番環境へのデプロイは金曜日に行わない"}},
			"the name of a file":            {SearchQuery{Text: "zanzibar"}, []string{"look"}},
			"a channel":                     {SearchQuery{Text: "slow friday", Channel: channel}, []string{"the database is slow"}},
			"an author":                     {SearchQuery{Text: "friday", Authors: []string{"U3"}}, []string{"lunch on Friday?"}},
			"one of two authors":            {SearchQuery{Text: "friday frozen", Authors: []string{"U3", "UBOT"}}, []string{"lunch on Friday?", own.Text}},
			"from a time on":                {SearchQuery{Text: "friday", From: chat.Time(at(2))}, []string{"lunch on Friday?"}},
			"before a time":                 {SearchQuery{Text: "friday", To: chat.Time(at(2))}, []string{"We never deploy on Fridays"}},
			"at most":                       {SearchQuery{Text: "friday", Limit: 1}, []string{"lunch on Friday?"}},
			"the instant of two messages":   {SearchQuery{Text: "instant"}, []string{other.Text}},
			"no words":                      {SearchQuery{Text: "the … 'of' \"&|!:*()\\ "}, nil},
			"nothing":                       {SearchQuery{Text: "kubernetes"}, nil},
			"a channel's id is no word":     {SearchQuery{Text: "#C2 @U2 C2 U2"}, nil},
			"the quotes of query languages": {SearchQuery{Text: `lunch' OR "x" AND NOT slow:*`}, []string{"the database is slow", "lunch on Friday?"}},
		} {
			wantTexts(t, what, db.found(t, test.query), test.want...)
		}
		got, err := db.Search(t.Context(), SearchQuery{Team: team, Here: channel, Text: "thread frozen", Limit: 1})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if want := (chat.Found{Message: reply, ChannelName: "name of C2"}); fmt.Sprint(got[0]) != fmt.Sprint(want) {
			t.Errorf("found %+v, want %+v", got[0], want)
		}
	})
}

// A message is found where its channel's memory may be read, and nowhere else.
func TestSearchSeesWhatReadersMay(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		db.sync(t, Channel{ID: "CPUBLIC"}, Channel{ID: "COTHER"}, Channel{ID: "CPRIVATE", Private: true}, Channel{ID: "CSHARED", Private: true, External: true}, Channel{ID: "CTURNED"}, Channel{ID: "CKEPT"})
		db.Withhold(chat.Withheld{Inside: chat.ChannelKeys{IDs: []string{"CKEPT"}}})
		for i, c := range []string{"CPUBLIC", "COTHER", "CPRIVATE", "CSHARED", "CTURNED", "CUNKNOWN", "CKEPT", "D1"} {
			db.store(t, write(i, c, "U1", "secret of "+c))
		}
		db.index(t)
		must(t, db.CloseChannel(t.Context(), team, "CTURNED"))
		for here, want := range map[string][]string{
			"CPUBLIC":  {"COTHER", "CPUBLIC"},
			"COTHER":   {"COTHER", "CPUBLIC"},
			"CPRIVATE": {"CPRIVATE", "COTHER", "CPUBLIC"},
			"CSHARED":  {"CSHARED"},
			"CTURNED":  {"CTURNED", "COTHER", "CPUBLIC"},
			"CUNKNOWN": {"CUNKNOWN", "COTHER", "CPUBLIC"},
			"CKEPT":    {"CKEPT", "COTHER", "CPUBLIC"},
			"D1":       {"D1", "COTHER", "CPUBLIC"},
		} {
			for i := range want {
				want[i] = "secret of " + want[i]
			}
			wantTexts(t, "in "+here, db.found(t, SearchQuery{Here: here, Text: "secret"}), want...)
			before, err := db.SaidBefore(t.Context(), SaidBeforeQuery{Team: team, Here: here, Texts: []string{"any secret?"}, Limit: 8})
			if err != nil {
				t.Fatal(err)
			}
			wantTexts(t, "before, in "+here, textsOf(before), want...)
		}
		wantTexts(t, "a private channel asked for", db.found(t, SearchQuery{Here: "CPUBLIC", Text: "secret", Channel: "CPRIVATE"}))
	})
}

// The order is that of BM25 over all matches, with the same numbers on both databases.
func TestSearchRanksByBM25(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel)
		random, words := rand.New(rand.NewPCG(1, 2)), strings.Fields("alpha beta gamma delta epsilon zeta theta kappa lambda omega 本番 環境 障害")
		var all []messageRow
		for i := range 300 {
			var text []string
			for range 1 + random.IntN(12) {
				text = append(text, words[int(float64(len(words))*math.Pow(random.Float64(), 2))])
			}
			row, err := newMessageRow(write(i, channel, "U1", strings.Join(text, " ")), true, micros(noon))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
		db.insert(t, &all)
		db.index(t)
		for _, text := range []string{"omega", "alpha omega", "beta kappa lambda zeta", "障害 alpha", "本番環境 障害", strings.Join(words, " ")} {
			want := mapRows(rankedByHand(all, text), func(r messageRow) string { return r.Text })
			wantTexts(t, text, db.found(t, SearchQuery{Text: text, Limit: 20}), want[:min(20, len(want))]...)
		}
	})
}

// rankedByHand is the messages that match a text, the best first.
func rankedByHand(all []messageRow, text string) (ranked []messageRow) {
	asked := terms.Query(text)
	has, total, matching := map[string]map[string]bool{}, 0.0, map[string]float64{}
	lengths := map[string]float64{}
	for _, r := range all {
		found, length := terms.Index(r.Text)
		has[r.TS], lengths[r.TS] = map[string]bool{}, float64(length)
		total += float64(length)
		for _, term := range found {
			has[r.TS][term] = true
			matching[term]++
		}
	}
	n, mean, scores := float64(len(all)), total/float64(len(all)), map[string]float64{}
	for _, r := range all {
		for _, a := range asked {
			if has[r.TS][a.Text] {
				idf := math.Log(1 + (n-matching[a.Text]+0.5)/(matching[a.Text]+0.5))
				scores[r.TS] += idf * 2.2 / (1 + 1.2*(0.25+0.75*lengths[r.TS]/mean))
			}
		}
		if scores[r.TS] > 0 {
			ranked = append(ranked, r)
		}
	}
	slices.SortFunc(ranked, func(a, b messageRow) int {
		if d := math.Round(scores[b.TS]*1e6) - math.Round(scores[a.TS]*1e6); d != 0 {
			return int(math.Copysign(1, d))
		}
		return strings.Compare(b.TS, a.TS)
	})
	return ranked
}

func TestSaidBefore(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel, "C2")
		own := write(1, "C2", "UBOT", "I wrote about zanzibar")
		own.Own = true
		asked := write(100, channel, "U1", "does anybody know one two three four five six seven eight about nine and ten of Zanzibar?")
		db.store(t, own, write(2, "C2", "U2", "zanzibar is an island"), write(3, channel, "U2", "shown: zanzibar"), write(4, "C2", "U2", "shown elsewhere: zanzibar"), asked)
		for i, word := range strings.Fields("ten nine eight seven six five four three two one") {
			for n := range 10 - i + 1 {
				db.store(t, write(200+20*i+n, "C2", "U2", word+" and nothing else"))
			}
		}
		db.index(t)
		before := func(limit int, texts ...string) []string {
			t.Helper()
			found, err := db.SaidBefore(t.Context(), SaidBeforeQuery{Team: team, Here: channel, Texts: texts, Except: []string{asked.TS, at(3), at(4)}, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			return textsOf(found)
		}
		wantTexts(t, "the rarest word", before(2, asked.Text), "zanzibar is an island", "one and nothing else")
		wantTexts(t, "without the bot's own and those shown", before(8, "Zanzibar"), "zanzibar is an island", "shown elsewhere: zanzibar")
		wantTexts(t, "of two texts", before(2, "nothing", "Zanzibar"), "zanzibar is an island", "shown elsewhere: zanzibar")
		wantTexts(t, "none wanted", before(0, asked.Text))
		// Of zanzibar and the numbers, the eight rarest are used.
		all := strings.Join(before(100, asked.Text), "\n")
		for _, word := range []string{"eight", "nine", "ten"} {
			if strings.Contains(all, word+" and nothing else") {
				t.Errorf("%q was looked for:\n%s", word, all)
			}
		}
		if !strings.Contains(all, "seven and nothing else") {
			t.Errorf("seven was not looked for:\n%s", all)
		}
	})
}

// A common term is looked for in the newest messages, and in all that have a second one.
func TestSearchForCommonTerms(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel)
		db.store(t,
			write(1, channel, "U1", "common alone, long ago"), write(2, channel, "U1", "common and frequent, long ago"), write(3, channel, "U1", "common and rare, long ago"),
			write(99_000, channel, "U1", "common, today"), write(99_001, channel, "U1", "frequent, today"),
		)
		var others []searchRow
		for i := range newestMessages - 2 {
			others = append(others, searchRow{TeamID: team, ChannelID: channel, TS: at(50_000 + i), ID: micros(chat.Time(at(50_000 + i)))},
				// a workspace that is louder hides nothing
				searchRow{TeamID: "T2", ChannelID: channel, TS: at(100_000 + i), ID: micros(chat.Time(at(100_000 + i)))})
		}
		must(t, db.transaction(t.Context(), func(tx *gorm.DB) error {
			set, err := newRowset(tx, others)
			if err != nil {
				return err
			}
			return tx.Exec("INSERT INTO search (id, team_id, channel_id, ts, stored_us, own, length, terms) SELECT id, team_id, channel_id, ts, stored_us, own, length, "+
				db.termsValue("terms")+" FROM "+set.sql, set.arg).Error
		}))
		db.index(t)
		db.insert(t, &[]commonRow{{"common", 40_000}, {"frequent", 30_000}})
		must(t, db.db.Model(&searchState{}).Where("TRUE").Update("messages", 100_000).Error)
		db.common.Store(nil)
		wantTexts(t, "one", db.found(t, SearchQuery{Text: "common"}), "common, today")
		wantTexts(t, "two", db.found(t, SearchQuery{Text: "common frequent"}), "common and frequent, long ago", "frequent, today", "common, today")
		wantTexts(t, "with a rare one", db.found(t, SearchQuery{Text: "common rare"}), "common and rare, long ago", "common, today")
		wantTexts(t, "of an author", db.found(t, SearchQuery{Text: "frequent", Authors: []string{"U1"}}), "frequent, today", "common and frequent, long ago")
		wantTexts(t, "from a time on", db.found(t, SearchQuery{Text: "common frequent", From: chat.Time(at(99_001))}), "frequent, today")
		wantTexts(t, "before a time", db.found(t, SearchQuery{Text: "common", To: chat.Time(at(9))}), "common and rare, long ago", "common and frequent, long ago", "common alone, long ago")
		before, err := db.SaidBefore(t.Context(), SaidBeforeQuery{Team: team, Here: channel, Texts: []string{"common"}, Limit: 8})
		if err != nil || len(before) > 0 {
			t.Errorf("by a common word, found before: %v, %v", before, err)
		}
	})
}

// What is deleted, edited or forgotten is not found any more, from the same moment on.
func TestSearchFollows(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel, "C2")
		inThread := write(21, channel, "U1", "zebra of a forgotten thread")
		inThread.ThreadTS = at(20)
		all := []chat.Message{
			write(1, channel, "U1", "zebra deleted"), write(2, channel, "U1", "zebra edited"), write(3, channel, "U1", "zebra edited in the history"),
			write(4, channel, "U1", "zebra that stays"), write(5, channel, "U1", "zebra forgotten alone"), write(20, channel, "U1", "zebra with a forgotten thread"), inThread,
			write(6, "C2", "U1", "zebra of a forgotten channel"),
		}
		for _, m := range all {
			if m.TS == at(3) {
				must(t, db.SaveHistory(t.Context(), []chat.Message{m}))
				continue
			}
			db.store(t, m)
		}
		db.index(t)
		if got := db.found(t, SearchQuery{Text: "zebra"}); len(got) != len(all) {
			t.Fatalf("found %q", got)
		}
		inFile := func() bool {
			return db.sqlite != "" && db.count(t, "search_by_term_data", "INSTR(block, CAST('delet' AS BLOB)) > 0") > 0
		}
		if db.sqlite != "" && !inFile() {
			t.Error("the file does not have a word that is there")
		}
		db.clock.advance(time.Minute)
		gone := all[0]
		gone.Deleted, gone.Text = true, ""
		db.record(t, gone, keep(gone))
		edited := all[1]
		edited.Revision, edited.Text = at(50), "a giraffe instead"
		db.record(t, edited, keep(edited))
		inHistory := all[2]
		inHistory.Text = "a giraffe in the history"
		must(t, db.SaveHistory(t.Context(), []chat.Message{inHistory}))
		for i, forget := range []func(id string) (ForgetResult, error){
			func(id string) (ForgetResult, error) {
				return db.ForgetMessages(t.Context(), team, channel, []string{at(5)}, "cli:test", id)
			},
			func(id string) (ForgetResult, error) {
				return db.Forget(t.Context(), chat.Scope{Team: team, Channel: channel, Thread: at(20)}, "cli:test", id)
			},
			func(id string) (ForgetResult, error) {
				return db.Forget(t.Context(), chat.Scope{Team: team, Channel: "C2"}, "cli:test", id)
			},
			func(id string) (ForgetResult, error) {
				return db.Forget(t.Context(), chat.Scope{Team: team}, "cli:test", id)
			},
		} {
			must(t, errOf(forget(fmt.Sprint("forget", i))))
		}
		wantTexts(t, "at once", db.found(t, SearchQuery{Text: "zebra giraffe"}), "zebra that stays")
		for where, want := range map[chat.Conversation]string{
			{Team: team, Channel: channel}:                 "[a giraffe instead a giraffe in the history zebra that stays]",
			{Team: team, Channel: channel, Thread: at(20)}: "[]",
			{Team: team, Channel: "C2"}:                    "[]",
		} {
			page, _, err := db.Page(t.Context(), PageRequest{Here: channel, Of: where, Limit: 50})
			if got := fmt.Sprint(mapRows(page, func(m chat.Message) string { return m.Text })); err != nil || got != want {
				t.Errorf("a page of %v has %s, %v; want %s", where, got, err, want)
			}
		}
		db.wantRows(t, 1, "search", "TRUE")
		if inFile() {
			t.Error("the file has a word of a deleted message")
		}
		// An edit does not bring back what was forgotten.
		forgotten := all[4]
		forgotten.Revision, forgotten.Text = at(60), "zebra forgotten alone, edited"
		db.record(t, forgotten, keep(forgotten))
		db.index(t)
		wantTexts(t, "soon", db.found(t, SearchQuery{Text: "zebra"}), "zebra that stays")
		wantTexts(t, "soon, the edits", db.found(t, SearchQuery{Text: "giraffe"}), "a giraffe in the history", "a giraffe instead")
		db.wantRows(t, 3, "search", "TRUE")
	})
}

func TestPruneAndSearch(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel)
		old, young := write(0, channel, "U1", "old zebra"), write(0, channel, "U1", "young zebra")
		old.TS, young.TS = chat.TS(day(41)), chat.TS(day(39))
		db.store(t, old, young)
		db.index(t)
		if got := db.prune(t, all); got["messages"] != 1 {
			t.Fatalf("gone are %v", got)
		}
		wantTexts(t, "then", db.found(t, SearchQuery{Text: "zebra"}), "young zebra")
		db.wantRows(t, 1, "search", "TRUE")
	})
}

// Index goes on where it ended, and finds what becomes visible late.
func TestIndexContinues(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel)
		for i := range 5 {
			db.store(t, write(i, channel, "U1", fmt.Sprint("zebra number ", 10+i)))
			db.clock.advance(time.Hour)
		}
		step := func(since time.Time, want IndexProgress) {
			t.Helper()
			if got, err := db.Index(t.Context(), since, 2); err != nil || got != want {
				t.Fatalf("%+v, %v, want %+v", got, err, want)
			}
		}
		state := func(messages int64, oldest time.Time) {
			t.Helper()
			if got, err := db.IndexState(t.Context()); err != nil || got != (IndexState{messages, oldest}) {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		state(0, noon)
		step(time.Time{}, IndexProgress{Indexed: 2, UpTo: noon.Add(time.Hour)})
		state(2, noon.Add(2*time.Hour))
		step(time.Time{}, IndexProgress{Indexed: 2, UpTo: noon.Add(3 * time.Hour)})
		step(time.Time{}, IndexProgress{Indexed: 1, CaughtUp: true, UpTo: noon.Add(4 * time.Hour)})
		state(5, time.Time{})
		step(time.Time{}, IndexProgress{CaughtUp: true})
		// Its transaction took a minute.
		late, err := newMessageRow(write(100, channel, "U1", "zebra that was late"), true, micros(db.clock.now().Add(-time.Minute)))
		if err != nil {
			t.Fatal(err)
		}
		db.insert(t, &late)
		step(db.clock.now(), IndexProgress{CaughtUp: true})
		step(time.Time{}, IndexProgress{Indexed: 1, CaughtUp: true, UpTo: instant(late.StoredUS)})
		db.store(t, write(101, channel, "U1", "zebra of now"))
		step(db.clock.now(), IndexProgress{Indexed: 1, CaughtUp: true, UpTo: db.clock.now()})
		if got := db.found(t, SearchQuery{Text: "zebra"}); len(got) != 7 {
			t.Errorf("found %q", got)
		}
	})
}

// A message that somebody changes at the moment is indexed afterwards, however old it is.
func TestIndexComesBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		if db.sqlite != "" {
			t.Skip("it has one writer")
		}
		publicChannels(t, db, channel)
		held := write(1, channel, "U1", "zebra that is held")
		db.store(t, held, write(2, channel, "U1", "zebra"))
		db.clock.advance(24 * time.Hour)
		must(t, db.transaction(t.Context(), func(tx *gorm.DB) error {
			if err := db.locked(tx).Where("ts = ?", held.TS).Take(&messageRow{}).Error; err != nil {
				return err
			}
			db.index(t)
			wantTexts(t, "meanwhile", db.found(t, SearchQuery{Text: "zebra"}), "zebra")
			return nil
		}))
		db.index(t)
		wantTexts(t, "then", db.found(t, SearchQuery{Text: "held"}), held.Text)
	})
}

// Several programs index at once, while messages come, are edited and deleted.
func TestIndexWhileRecording(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel)
		other := open(t, db.url)
		other.now = db.clock.now
		const n = 60
		noErrors(t, concurrently(6, func(i int) error {
			if i < 3 {
				for range n {
					if _, err := []*Store{db.Store, other}[i%2].Index(t.Context(), time.Time{}, 7); err != nil {
						return err
					}
				}
				return nil
			}
			for k := range n {
				m := write(1000*i+k, channel, "U1", "zebra first")
				if _, err := db.Record(t.Context(), m, keep(m)); err != nil {
					return err
				}
				db.clock.advance(time.Millisecond)
				m.Revision, m.Text = at(1), "zebra second"
				if k%3 == 0 {
					m.Deleted, m.Text = true, ""
				}
				if _, err := db.Record(t.Context(), m, keep(m)); err != nil {
					return err
				}
			}
			return nil
		}))
		db.index(t)
		found := db.found(t, SearchQuery{Text: "zebra first", Limit: 1000})
		if len(found) != 3*n*2/3 || slices.Contains(found, "zebra first") {
			t.Errorf("found %d: %q", len(found), found)
		}
		if n := db.count(t, "search", "TRUE"); n != len(found) {
			t.Errorf("%d messages are in the index, %d are found", n, len(found))
		}
	})
}

// Which terms are common is told by the newest messages.
func TestIndexCountsCommonTerms(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db database) {
		publicChannels(t, db, channel)
		var rows []messageRow
		for i := range 2 * commonFrom {
			text := "frequent word"
			if i%2 == 0 {
				text = fmt.Sprintf("word n%d", i)
			}
			row, err := newMessageRow(write(i, channel, "U1", text), true, micros(noon)+int64(i))
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		must(t, db.db.CreateInBatches(rows, 500).Error)
		db.index(t)
		common, err := db.commonTerms(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(common.messages); got != fmt.Sprint(map[string]int64{"frequent": commonFrom, "word": 2 * commonFrom}) {
			t.Errorf("common are %s", got)
		}
	})
}
