package door

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/conversation"
	"myao/internal/intake/record"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/storetest"
)

const secret = "shh"

// Paths at which Slack delivers.
const (
	events       = "/slack/events"
	interactions = "/slack/interactions"
	commands     = "/slack/commands"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// directory is a Slack that knows the bot and every channel, until it fails.
type directory struct {
	mu       sync.Mutex
	err      error
	users    error           // of asking about a user
	guests   map[string]bool // by id
	asked    int             // number of calls for a channel
	asks     chan string     // for the reason of a vote
	over     chan struct{}   // closed when the test is
	deadline bool
	page     slack.Page // of every thread
	pageErr  error
	// suggested holds how many prompts were suggested, and where.
	suggested chan string
}

func (d *directory) Identity(ctx context.Context) (slack.Identity, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, d.deadline = ctx.Deadline()
	return slack.Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", AppID: "A1"}, d.err
}

func (d *directory) Channel(_ context.Context, id string) (slack.Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return slack.Channel{ID: id, Name: "general", Member: id != "CELSEWHERE"}, d.err
}

func (d *directory) User(_ context.Context, id string) (slack.User, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slack.User{ID: id, Name: "name of " + id, IsBot: id == "UROBOT", Guest: d.guests[id]}, cmp.Or(d.err, d.users)
}

func (d *directory) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	return d.page, d.pageErr
}

func (d *directory) OpenForm(ctx context.Context, trigger string, f slack.Form) error {
	d.asks <- trigger + " about " + f.Metadata
	<-d.over // Slack hangs
	return ctx.Err()
}

func (d *directory) Has(string) bool { return true }

func (d *directory) SuggestPrompts(_ context.Context, channel string, prompts []slack.Prompt) error {
	d.suggested <- fmt.Sprintf("%d in %s", len(prompts), channel)
	return nil
}

func (d *directory) failUsers(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users = err
}

func (d *directory) Members(context.Context, string, string) ([]string, string, error) {
	return nil, "", nil
}

func (d *directory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// notified is a relay that remembers which conversations it was notified of.
type notified struct {
	mu  sync.Mutex
	ids []string
}

func (k *notified) Notify(targets ...store.Target) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range targets {
		k.ids = append(k.ids, c.ID())
	}
}

func (k *notified) targets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.ids)
}

// dropper remembers in which channels it was to drop what waits.
type dropper struct {
	channels []string
	err      error
}

func (d *dropper) DropInChannel(_ context.Context, _, channel, _, _ string) error {
	d.channels = append(d.channels, channel)
	return d.err
}

// introducer remembers what it was to post.
type introducer struct {
	err     error
	replies []string
}

func (i *introducer) Introduce(_ context.Context, _ chat.Conversation, reply string) error {
	i.replies = append(i.replies, reply)
	return i.err
}

type bundle struct {
	*Door
	*Workspace
	channels   *channels.Directory
	directory  *directory
	notified   *notified
	commands   *commandHandler
	answers    *responder
	counters   *prometheus.Registry
	introducer *introducer
	dropper    *dropper
	url        string // of the door
}

// counted returns a counter's value under its only label.
func (b *bundle) counted(t testing.TB, name, label string) float64 {
	t.Helper()
	families, err := b.counters.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if family.GetName() == name && l.GetValue() == label {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

func setup(t testing.TB) *bundle {
	t.Helper()
	b := setupOn(t, storetest.SQLite(t))
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{events: b.Events(), interactions: b.Interactions(), commands: b.Commands()} {
		mux.Handle("POST "+path, handler)
	}
	b.listen(t, mux)
	return b
}

// listen has a server answer requests, which may take as long as the machine stands still.
func (b *bundle) listen(t testing.TB, handler http.Handler) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.BaseContext = func(net.Listener) context.Context { return timeout.Extend(context.Background()) }
	server.Start()
	t.Cleanup(server.Close)
	b.url = server.URL
}

// setupOn is setup without a server.
func setupOn(t testing.TB, url string) *bundle {
	t.Helper()
	db := storetest.OpenURL(t, url)
	discard, clock := slog.New(slog.DiscardHandler), func() time.Time { return noon }
	b := &bundle{directory: &directory{asks: make(chan string, 8), over: make(chan struct{}), suggested: make(chan string, 8)}, notified: &notified{}, commands: &commandHandler{}, introducer: &introducer{}, dropper: &dropper{}, answers: &responder{said: make(chan string, 8)}, counters: prometheus.NewRegistry()}
	t.Cleanup(func() { close(b.directory.over) })
	b.Workspace = &Workspace{
		Store: db, Slack: b.directory, Config: config.Config{Slack: config.Slack{Introduce: true}}, Introducer: b.introducer, Dropper: b.dropper,
		Relay: b.notified, CommandHandler: b.commands, Responder: b.answers,
	}
	b.Door = &Door{
		Of: func(ctx context.Context, _, _ string) (*Workspace, slack.Identity, error) {
			own, err := b.directory.Identity(ctx)
			return b.Workspace, own, err
		},
		SigningSecret: secret, Clock: clock, Logger: discard, Metrics: NewMetrics(b.counters),
	}
	b.channels = &channels.Directory{Store: db, Slack: b.directory, Config: &b.Workspace.Config, Clock: clock, Logger: discard}
	b.Directory, b.Recorder = b.channels, &record.Recorder{Store: db, Directory: b.channels}
	return b
}

// testWithFakeClock runs a test of a door without a server. Time passes only when all wait, so no wait for SQLite's
// lock ends too soon because the machine has stopped.
func testWithFakeClock(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) { test(t, setupOn(t, url)) })
}

// serve has the door answer an event, without a server.
func (b *bundle) serve(t testing.TB, body string, header http.Header) (status int, answer string) {
	r := httptest.NewRequestWithContext(timeout.Extend(t.Context()), http.MethodPost, events, strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	b.Events().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// sign returns the headers of a body that Slack sends at an instant.
func sign(body, secret string, at time.Time) http.Header {
	ts := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, "v0:"+ts+":"+body)
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", ts)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

// post sends an event; chunked, it does not announce its length.
func (b *bundle) post(t testing.TB, body string, header http.Header, chunked bool) (status int, answer string) {
	t.Helper()
	return b.postTo(t, events, body, header, chunked)
}

// postTo sends a request.
func (b *bundle) postTo(t testing.TB, path, body string, header http.Header, chunked bool) (status int, answer string) {
	t.Helper()
	var reader io.Reader = strings.NewReader(body)
	if chunked {
		reader = io.MultiReader(reader)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}

func (b *bundle) deliver(t testing.TB, body string) int { return b.deliverAt(t, body, noon) }

func (b *bundle) deliverAt(t testing.TB, body string, at time.Time) int {
	t.Helper()
	status, _ := b.post(t, body, sign(body, secret, at), false)
	return status
}

func callback(event string) string {
	return `{"type":"event_callback","team_id":"T1","event_id":"Ev1","event_time":100,"event":` + event + `}`
}

const hello = `{"type":"message","channel":"C1","user":"U1","ts":"100.000001","text":"hello","channel_type":"channel"}`

// As docs.slack.dev/reference/events/app_rate_limited shows it.
const dropped = `{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","type":"app_rate_limited","team_id":"T1","minute_rate_limited":1518467820,"api_app_id":"A1"}`

func (b *bundle) stored(t testing.TB, ts string) bool {
	t.Helper()
	_, err := b.Store.Message(t.Context(), "T1", "C1", ts)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func TestDoorAnswersTheChallenge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.directory.fail(errors.New("no Slack yet")) // Slack checks the address while the app is being set up
	body := `{"token":"t","challenge":"a \"quoted\" <one>","type":"url_verification"}`
	status, answer := b.post(t, body, sign(body, secret, noon), false)
	var got map[string]string
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != 200 || got["challenge"] != `a "quoted" <one>` {
		t.Errorf("status %d, %q, %v", status, answer, err)
	}
	if status, _ := b.post(t, body, sign(body, "other", noon), false); status != 401 {
		t.Errorf("with a forged signature: status %d, want 401", status)
	}
}

func TestDoorAcknowledgesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for body, result := range map[string]string{
		callback(`{"type":"reaction_removed","user":"U1"}`):                                           "unusable",
		callback(`{"type":"reaction_added","user":"U1"}`):                                             "unusable",
		callback(`{"type":"message","subtype":"channel_join","channel":"C1","user":"U1","ts":"1.1"}`): "ignored",
		dropped: "rate_limited",
		strings.Replace(dropped, `"T1"`, `"T2"`, 1):                                     "foreign",
		strings.Replace(dropped, `"A1"`, `"A2"`, 1):                                     "foreign",
		`{"type":"app_rate_limited","team_id":"T1"}`:                                    "rate_limited",
		`{"type":"something_new"}`:                                                      "ignored",
		strings.Replace(callback(hello), `"T1"`, `"T2"`, 1):                             "foreign",
		strings.Replace(callback(hello), `"team_id"`, `"api_app_id":"A2","team_id"`, 1): "foreign",
		callback(`null`): "unusable",
		callback(`"x"`):  "unusable",
		callback(`{"type":"message","channel":"C1","user":"U1","text":"no ts"}`):                                "unusable",
		callback(`{"type":"message","channel":"C/1","user":"U1","ts":"1.1","text":"an id with a slash"}`):       "unusable",
		callback(`{"type":"message","channel":7,"user":"U1","ts":"1.1"}`):                                       "unusable",
		callback(`{"type":"message","channel":"C1","user":"U1","ts":"1.1'; DROP TABLE messages;--","text":""}`): "unusable",
	} {
		before := b.counted(t, "myao_events_total", result)
		if status := b.deliver(t, body); status != 200 {
			t.Errorf("%s: status %d, want 200", body, status)
		}
		if got := b.counted(t, "myao_events_total", result); got != before+1 {
			t.Errorf("%s is not counted as %s", body, result)
		}
	}
	if n, _, err := b.Store.BacklogSize(t.Context()); n != 0 || err != nil || len(b.notified.targets()) != 0 {
		t.Errorf("%d changes, %v, told %v", n, err, b.notified.targets())
	}
}

// What may be lost is read from Slack's history.
func TestDoorTellsOfMissedEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var missed []string
	b.Missed = func(reason string) { missed = append(missed, reason) }
	message := callback(hello)
	for _, test := range []struct {
		body   string
		header http.Header
		away   error // of Slack
		want   string
	}{
		{message, sign(message, secret, noon), errors.New("Slack is away"), "an event failed"},
		{message, sign(message, secret, noon), nil, ""},
		{dropped, sign(dropped, secret, noon), nil, "Slack drops events"},
		{`7`, sign(`7`, secret, noon), nil, "an event was not understood"},
		{callback(`{"type":"message","channel":"C1","user":"U1","text":"no ts"}`), nil, nil, "an event was not understood"},
		{strings.Replace(message, `"T1"`, `"T2"`, 1), nil, nil, ""},
	} {
		missed = nil
		b.directory.fail(test.away)
		if test.header == nil {
			test.header = sign(test.body, secret, noon)
		}
		b.post(t, test.body, test.header, false)
		if got := strings.Join(slices.Compact(missed), ", "); got != test.want {
			t.Errorf("%s: %q, want %q", test.body, got, test.want)
		}
	}
}

// Anybody may send requests that are refused. They open a gap only while none of Slack's passes, as with a wrong
// signing secret, and one an hour at most.
func TestRefusedRequestsOpenFewGaps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := noon
	b.Clock = func() time.Time { return now }
	gaps := 0
	b.Missed = func(string) { gaps++ }
	body := callback(hello)
	for _, step := range []struct {
		what   string
		after  time.Duration
		header func() http.Header
		status int
		gaps   int
	}{
		{"the first stale one", 0, func() http.Header { return sign(body, secret, now.Add(-time.Hour)) }, 401, 0},
		{"the first repeated one", 0, func() http.Header { return twice(sign(body, secret, now), slack.TimestampHeader) }, 401, 0},
		{"the first unsigned one", 0, func() http.Header { return http.Header{} }, 401, 0},
		{"the first forged one", 0, func() http.Header { return sign(body, "former", now) }, 401, 1},
		{"forged five minutes later", 5 * time.Minute, func() http.Header { return sign(body, "former", now) }, 401, 0},
		{"forged again after an hour", 55 * time.Minute, func() http.Header { return sign(body, "former", now) }, 401, 1},
		{"stale after another", time.Hour, func() http.Header { return sign(body, secret, now.Add(-time.Hour)) }, 401, 0},
		{"Slack's", 0, func() http.Header { return sign(body, secret, now) }, 200, 0},
		{"forged while Slack's pass", 59 * time.Minute, func() http.Header { return sign(body, "former", now) }, 401, 0},
		{"forged when none has passed for an hour", time.Minute, func() http.Header { return sign(body, "former", now) }, 401, 1},
	} {
		gaps, now = 0, now.Add(step.after)
		if status, answer := b.post(t, body, step.header(), false); status != step.status || gaps != step.gaps {
			t.Errorf("%s: status %d, %q, %d gaps; want %d and %d", step.what, status, answer, gaps, step.status, step.gaps)
		}
	}
	// A door that ends while it refuses what may be Slack's leaves no doubt behind.
	for _, step := range []struct {
		secret string
		gaps   int
	}{{secret, 0}, {"former", 1}} {
		gaps = 0
		b.post(t, body, sign(body, step.secret, now), false)
		if b.Ending(); gaps != step.gaps {
			t.Errorf("it ends after a request with the secret %q: %d gaps, want %d", step.secret, gaps, step.gaps)
		}
	}
}

// Ten thousand requests a minute that Slack has not signed change neither what Slack's get nor what Slack is asked.
func TestUnverifiedRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now, gaps := noon, 0
	b.Clock, b.Missed = func() time.Time { return now }, func(string) { gaps++ }
	send := func(body string, header http.Header) int {
		status, _ := b.serve(t, body, header)
		return status
	}
	const requests, every = 10_000, 500
	stranger := callback(hello)
	for i := range requests {
		now = noon.Add(time.Minute * time.Duration(i) / requests)
		if i%every == 0 {
			ts := fmt.Sprintf("200.%06d", i)
			body := strings.Replace(callback(hello), "100.000001", ts, 1)
			if status := send(body, sign(body, secret, now)); status != http.StatusOK || !b.stored(t, ts) {
				t.Fatalf("Slack's request after %d others: status %d", i, status)
			}
		}
		header := sign(stranger, "guessed", now)
		switch i % 4 {
		case 1:
			header = sign(stranger, "guessed", now.Add(-time.Hour))
		case 2:
			header = twice(header, slack.SignatureHeader)
		case 3:
			header = http.Header{}
		}
		if status := send(stranger, header); status != http.StatusUnauthorized {
			t.Fatalf("request %d: status %d, want 401", i, status)
		}
	}
	if gaps != 0 || b.stored(t, "100.000001") {
		t.Errorf("%d gaps were opened; want none, and nothing stored", gaps)
	}
}

func TestDoorWarnsOfDroppedEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var log bytes.Buffer
	b.Logger = slog.New(slog.NewTextHandler(&log, nil))
	if status := b.deliver(t, dropped); status != 200 {
		t.Errorf("status %d, want 200", status)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "minute_rate_limited=2018-02-12T20:37:00.000Z") {
		t.Errorf("it says %s", got)
	}
}

// While the bot's identity is unknown, the door acknowledges what no bot could use, and nothing else.
func TestDoorWithoutIdentity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Slack.HushReaction = shh
	b.directory.fail(errors.New("Slack is away"))
	private := strings.Replace(hello, `"channel_type":"channel"`, `"channel_type":"group"`, 1)
	for _, test := range []struct {
		name, body string
		status     int
		result     string
	}{
		{"another event", callback(`{"type":"team_rename","name":"New"}`), 200, "ignored"},
		{"too many events", `{"type":"app_rate_limited","minute_rate_limited":1}`, 200, "rate_limited"},
		{"another envelope", `{"type":"wat"}`, 200, "ignored"},
		{"no event", callback(`null`), 200, "unusable"},
		{"no ts", callback(`{"type":"message","channel":"C1","user":"U1","text":"no ts"}`), 200, "unusable"},
		{"somebody joined", callback(`{"type":"message","subtype":"channel_join","channel":"C1","user":"U1","ts":"1.1"}`), 200, "ignored"},
		{"a reaction", reaction("U1", "thumbsup", "U1", "100.000001"), 503, "failed"},
		{"a reaction on nothing", callback(`{"type":"reaction_added","user":"U1"}`), 200, "unusable"},
		{"a message", callback(hello), 503, "failed"},
		{"another id of a channel", callback(`{"type":"channel_id_changed","old_channel_id":"C1","new_channel_id":"C2"}`), 503, "failed"},
		{"a reaction that hushes", reaction("U1", shh, "U1", "100.000001"), 503, "failed"},
		{"no ts, in a private channel", callback(strings.Replace(private, `"ts":"100.000001",`, "", 1)), 503, "failed"},
		{"made private", callback(`{"type":"message","subtype":"channel_convert_to_private","channel":"C1","user":"U1","ts":"1.1"}`), 503, "failed"},
	} {
		before := b.counted(t, "myao_events_total", test.result)
		if status := b.deliver(t, test.body); status != test.status {
			t.Errorf("%s: status %d, want %d", test.name, status, test.status)
		}
		if got := b.counted(t, "myao_events_total", test.result); got != before+1 {
			t.Errorf("%s is not counted as %s", test.name, test.result)
		}
	}
}

func TestDoorRefusesWhileItCannotStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := callback(hello)
	b.directory.fail(errors.New("Slack is away"))
	if status := b.deliver(t, body); status != http.StatusServiceUnavailable || b.stored(t, "100.000001") {
		t.Errorf("identity unavailable: status %d, want 503", status)
	}
	b.directory.fail(nil)
	if status := b.deliver(t, body); status != 200 || !b.stored(t, "100.000001") {
		t.Errorf("identity back: status %d, want 200", status)
	}
	if !b.directory.deadline {
		t.Error("an event may take for ever")
	}
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	b.mayAll()
	for _, body := range []string{body, reaction("U1", shh, "U1", "100.000001")} {
		if status := b.deliver(t, body); status != http.StatusServiceUnavailable {
			t.Errorf("database down: status %d, want 503 for %s", status, body)
		}
	}
	if got := b.counted(t, "myao_events_total", "failed"); got != 3 {
		t.Errorf("%v failures counted, want 3", got)
	}
}

// Repeated events are recognised by what is stored, whatever their headers.
func TestDoorRecordsAnEventOnce(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, doorRecordsAnEventOnce)
}

func doorRecordsAnEventOnce(t *testing.T, b *bundle) {
	mention := strings.Replace(hello, "hello", "<@UBOT> hello", 1)
	twin := strings.Replace(mention, `"type":"message"`, `"type":"app_mention"`, 1)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			body := callback([]string{mention, twin}[i%2])
			header := sign(body, secret, noon)
			header.Set("X-Slack-Retry-Num", strconv.Itoa(i/2))
			if status, answer := b.serve(t, body, header); status != 200 {
				t.Errorf("status %d, %s", status, answer)
			}
		})
	}
	group.Wait()
	want := []string{"channel/T1/C1", "thread/T1/C1/100.000001"}
	if got := b.notified.targets(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("notified %v, want each of %v once", got, want)
	}
	if n, _, err := b.Store.BacklogSize(t.Context()); n != 2 || err != nil {
		t.Errorf("%d changes, %v; want 2", n, err)
	}
}

// Many people follow up in threads and mention the bot at the same time.
func TestDoorUnderConcurrentLoad(t *testing.T) {
	t.Parallel()
	testWithFakeClock(t, doorUnderConcurrentLoad)
}

func doorUnderConcurrentLoad(t *testing.T, b *bundle) {
	deliver := func(body string) int {
		status, _ := b.serve(t, body, sign(body, secret, noon))
		return status
	}
	const n = 30
	event := func(kind, ts, thread, user, text string) string {
		return callback(fmt.Sprintf(`{"type":%q,"channel":"C1","ts":%q,"thread_ts":%q,"user":%q,"text":%q,"channel_type":"channel"}`, kind, ts, thread, user, text))
	}
	parent := func(i int) string { return fmt.Sprintf("100.%06d", i) }
	for i := range n / 10 {
		deliver(event("message", parent(i), "", "U1", "hello"))
		deliver(event("message", fmt.Sprintf("200.%06d", i), parent(i), "UBOT", "how can I help?"))
	}
	var group errgroup.Group
	group.SetLimit(8) // so that none waits for more writes than an event has time for
	for i := range n {
		thread := parent(i % (n / 10))
		reply, mention := event("message", fmt.Sprintf("300.%06d", i), thread, "U1", "goes on"), fmt.Sprintf("400.%06d", i)
		for _, body := range []string{reply, event("message", mention, "", "U2", "<@UBOT> hello"), event("app_mention", mention, "", "U2", "<@UBOT> hello")} {
			group.Go(func() error {
				if status := deliver(body); status != 200 {
					t.Errorf("status %d of %s", status, body)
				}
				return nil
			})
		}
	}
	_ = group.Wait()
	if got, _, err := b.Store.BacklogSize(t.Context()); got != n/10+3*n || err != nil {
		t.Errorf("%d changes, %v; want %d", got, err, n/10+3*n)
	}
	for i := range n / 10 {
		waiting, err := b.Store.PendingChanges(t.Context(), "thread/T1/C1/"+parent(i), n)
		if err != nil || len(waiting) != 10 {
			t.Errorf("thread %d: %d changes, %v; want 10", i, len(waiting), err)
		}
		for _, w := range waiting {
			if !w.FollowUp {
				t.Errorf("thread %d: %s does not follow up what the bot said", i, w.TS)
			}
		}
	}
}

// A channel that becomes private is closed by the first event that says so, whatever that event does to
// its message. No event opens a channel.
func TestEventsCloseTheirChannel(t *testing.T) {
	t.Parallel()
	const (
		posted = `"user":"U1","ts":"100.000001","text":"hello"`
		edited = `"subtype":"message_changed","ts":"101.1","message":{"type":"message","user":"U1","ts":"100.000001","text":"hi","edited":{"user":"U1","ts":"101.000000"}},"previous_message":{"user":"U1","ts":"100.000001","text":"hello"}`
		gone   = `"subtype":"message_deleted","ts":"102.1","deleted_ts":"100.000001","previous_message":{"user":"U1","ts":"100.000001","text":"hello"}`
		// Of these nothing else is kept.
		joined   = `"subtype":"channel_join","user":"U2","ts":"103.1"`
		topic    = `"subtype":"group_topic","user":"U1","ts":"104.1","topic":"secrets"`
		unfurled = `"subtype":"message_changed","ts":"105.1","message":{"type":"message","user":"U1","ts":"100.000001","text":"hello"},"previous_message":{"user":"U1","ts":"100.000001","text":"hello"}`
		ungone   = `"subtype":"message_deleted","ts":"106.1","deleted_ts":"103.1","previous_message":{"subtype":"channel_join","user":"U2","ts":"103.1"}`
		unusable = `"user":"U1","text":"no ts"`
	)
	for _, what := range []string{posted, edited, gone, joined, topic, unfurled, ungone, unusable} {
		for kind, want := range map[string]bool{"group": true, "mpim": true, "im": true, "channel": false, "": false} {
			b := setup(t)
			is := func(when string, private bool) {
				t.Helper()
				known, err := b.Store.Channels(t.Context(), "T1", []string{"C1", "C2"})
				if err != nil || known["C1"].Private != private || known["C2"].Private {
					t.Errorf("%s, %s %s: %+v, %v; want private %v", kind, what, when, known, err, private)
				}
			}
			tell := func(what, kind string) {
				t.Helper()
				if status := b.deliver(t, callback(`{"type":"message","channel":"C1","channel_type":"`+kind+`",`+what+`}`)); status != 200 {
					t.Errorf("status %d", status)
				}
			}
			for _, id := range []string{"C1", "C2"} {
				if err := b.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: id, Name: "lounge", Member: true, Refreshed: noon}); err != nil {
					t.Fatal(err)
				}
			}
			tell(what, "channel")
			is("while public", false)
			tell(what, kind) // again: nothing new to store
			is("then", want)
			tell(posted, "channel")
			is("and after it", want)
		}
	}
}

// Slack says only once that a channel was made private, in an event with nothing else to store. If that
// cannot be stored, the event is not acknowledged.
func TestDoorClosesAChannelMadePrivate(t *testing.T) {
	t.Parallel()
	const made = `{"type":"message","subtype":"channel_convert_to_private","channel":"C1","user":"U1","ts":"100.000001"`
	for name, tc := range map[string]struct {
		body string
		want bool
	}{
		"as Slack tells it":      {callback(made + `,"channel_type":"group"}`), true},
		"by its subtype alone":   {callback(made + `}`), true},
		"of a type that was":     {callback(made + `,"channel_type":"channel"}`), true},
		"as another event":       {callback(strings.Replace(made, `"message"`, `"hologram"`, 1) + `,"channel_type":"group"}`), false},
		"in another workspace":   {strings.Replace(callback(made+`,"channel_type":"group"}`), `"T1"`, `"T2"`, 1), false},
		"told to another app":    {strings.Replace(callback(made+`,"channel_type":"group"}`), `"team_id"`, `"api_app_id":"A2","team_id"`, 1), false},
		"of a channel malformed": {callback(strings.Replace(made, `"C1"`, `"C/1"`, 1) + `,"channel_type":"group"}`), false},
	} {
		b := setup(t)
		for _, id := range []string{"C1", "C2", "C/1"} {
			if err := b.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: id, Name: "lounge", Member: true, Refreshed: noon}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if status := b.deliver(t, tc.body); status != 200 {
				t.Errorf("%s: status %d", name, status)
			}
			known, err := b.Store.Channels(t.Context(), "T1", []string{"C1", "C2", "C/1"})
			if err != nil || known["C1"].Private != tc.want || known["C2"].Private || known["C/1"].Private {
				t.Errorf("%s: %+v, %v; want private %v", name, known, err, tc.want)
			}
		}
		if err := b.Store.Close(); err != nil {
			t.Fatal(err)
		}
		want, failed := 200, 0.0
		if tc.want {
			want, failed = 503, 1
		}
		if status := b.deliver(t, tc.body); status != want || b.counted(t, "myao_events_total", "failed") != failed {
			t.Errorf("%s, which cannot be kept: status %d, want %d", name, status, want)
		}
	}
}

func TestDoorAsksForAChannelNameOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Channels = map[string]config.Channel{"general": {Mode: config.ModeAll}}
	say := func(n int) {
		t.Helper()
		if status := b.deliver(t, callback(strings.Replace(hello, "100.000001", fmt.Sprintf("100.%06d", n), 1))); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	// Slack does not tell: the event is taken all the same, by the settings of all.
	b.channels.Slack = &mute{directory: b.directory}
	say(1)
	b.channels.Slack = b.directory
	say(2)
	say(3)
	if b.directory.asked != 1 {
		t.Errorf("Slack was asked %d times, want 1", b.directory.asked)
	}
	want := []string{"channel/T1/C1", "thread/T1/C1/100.000002", "channel/T1/C1", "thread/T1/C1/100.000003", "channel/T1/C1"}
	if got := b.notified.targets(); !slices.Equal(got, want) {
		t.Errorf("notified %v, want %v", got, want)
	}
}

// mute knows the bot, but no channel or user.
type mute struct{ *directory }

func (m *mute) User(context.Context, string) (slack.User, error) {
	return slack.User{}, errors.New("not now")
}

func (m *mute) Channel(context.Context, string) (slack.Channel, error) {
	return slack.Channel{}, errors.New("not now")
}

// The events of a workspace, app_mentions included, become the right changes.
func TestDoorOfASandboxWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Clock = time.Now
	w := workspace.New(workspace.Config{Team: "T1", SigningSecret: secret, EventsURL: b.url + events, Deliverers: 4, AckTimeout: time.Hour})
	t.Cleanup(w.Close)
	api := httptest.NewServer(w.Handler())
	t.Cleanup(api.Close)
	client := slack.New(slack.Config{Token: "xoxb-sandbox", APIURL: api.URL + "/api/", HTTPClient: &http.Client{Timeout: time.Hour}})
	b.Slack, b.channels.Slack = client, client
	b.Of = func(ctx context.Context, _, _ string) (*Workspace, slack.Identity, error) {
		own, err := client.Identity(ctx)
		return b.Workspace, own, err
	}
	alice := w.AddUser("alice")
	general := w.AddChannel(workspace.Public, "general", w.Bot().UserID, alice.ID)
	settle := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.AwaitDeliveries(ctx); err != nil {
			t.Fatal(err)
		}
	}
	mention := "<@" + w.Bot().UserID + "> "
	said := w.Say(general, alice.ID, "hello")
	asked := w.Say(general, alice.ID, mention+"look", workspace.WithFile("cat.png", "image/png", nil))
	reply := w.Say(general, alice.ID, "more", workspace.InThread(asked))
	dm := w.AddChannel(workspace.DM, "", alice.ID)
	w.Say(dm, "USLACK", "<@"+alice.ID+"> archived the channel <#C0OLD>")
	told := w.Say(dm, alice.ID, "that was me")
	settle()
	w.Edit(general, said, mention+"hello")
	w.Edit(general, reply, "more of it")
	settle()
	w.Delete(general, asked)
	settle()
	for c, want := range map[chat.Conversation][]string{
		{Team: "T1", Channel: general}:                {said + " said", said + " addressed", asked + " addressed", asked + " deleted"},
		{Team: "T1", Channel: general, Thread: said}:  {said + " addressed"},
		{Team: "T1", Channel: general, Thread: asked}: {asked + " addressed", asked + " deleted", reply + " said", reply + " edited"},
		{Team: "T1", Channel: dm}:                     {told + " addressed"},
	} {
		waiting, err := b.Store.PendingChanges(t.Context(), c.ID(), 50)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range waiting {
			got = append(got, change.TS+" "+string(change.Kind))
			if (change.Revision != "") != (change.Kind == conversation.Edited || change.TS == said && change.Kind == conversation.Addressed) {
				t.Errorf("%s: %s of revision %q", c.ID(), change.Kind, change.Revision)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gets %q, want %q", c.ID(), got, want)
		}
	}
	m, err := b.Store.Message(t.Context(), "T1", general, said)
	if err != nil || m.Text != mention+"hello" {
		t.Errorf("stored %+v, %v", m, err)
	}
}

// Whatever body is signed, the door does not panic, and does not ask for it again while the database
// works.
func FuzzDoor(f *testing.F) {
	b := setup(f)
	handler := b.Events()
	for _, seed := range []string{
		"", "{}", "[]", callback(hello), callback("null"),
		callback(strings.Replace(hello, "hello", "<@UBOT> \\u0000\\ud800", 1)),
		callback(strings.Replace(hello, `"ts"`, `"thread_ts":"50.1","ts"`, 1)),
		callback(`{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"110.1","message":` + hello + `,"previous_message":{}}`),
		callback(`{"type":"message","subtype":"message_deleted","channel":"D1","deleted_ts":"100.000001","previous_message":` + hello + `}`),
		callback(`{"type":"app_mention","channel":"C1","bot_id":"B2","ts":"99999999999.999999999","text":"","files":[{"name":"\u0000"},7,null]}`),
		`{"type":"url_verification","challenge":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(timeout.Extend(t.Context()), http.MethodPost, "/slack/events", bytes.NewReader(body))
		r.Header = sign(string(body), secret, noon)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var object map[string]json.RawMessage
		want := http.StatusOK
		if json.Unmarshal(body, &object) != nil || object == nil {
			want = http.StatusBadRequest
		}
		if len(body) > bodyLimit {
			want = http.StatusRequestEntityTooLarge
		}
		if w.Code != want {
			t.Errorf("status %d, %q, want %d", w.Code, w.Body, want)
		}
	})
}
