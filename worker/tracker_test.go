package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/runtime/temporal"
	"myao/internal/store"
	"myao/sandbox/workspace"
	"myao/test/storetest"
	"myao/test/testserver"
)

// A model call in flight when the worker stops is recorded in the usage, even if the database is
// slow.
func TestAModelCallCancelledByTheStopIsRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	c, env := namespace(t)
	w := workspace.New(workspace.Config{Team: "T1", BotToken: "xoxb-1"})
	t.Cleanup(w.Close)
	api := httptest.NewServer(w.Handler())
	t.Cleanup(api.Close)
	alice := w.AddUser("alice").ID
	channel := w.AddChannel(workspace.Public, "general", w.Bot().UserID, alice)
	asked, cut := make(chan struct{}, 100), make(chan struct{}, 100)
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
		cut <- struct{}{}
	}))
	t.Cleanup(model.Close)

	path := filepath.Join(t.TempDir(), "myao.db")
	db := storetest.OpenURL(t, "sqlite:"+path)
	text := "<@" + w.Bot().UserID + "> hello"
	ts := w.Say(channel, alice, text)
	m := chat.Message{Team: "T1", Channel: channel, TS: ts, UserID: alice, Text: text}
	if _, err := db.Record(t.Context(), m, func(store.Known) store.Entry { return store.Entry{Message: &m, Handled: true} }); err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, write(t, "http://127.0.0.1:1/api/", api.URL+"/api/",
		"database: {", fmt.Sprintf("database: {url: %q} #", "sqlite:"+path),
		"response: {provider: demo}", "response: {provider: openai, model: m}",
		"agents:", fmt.Sprintf("llm: {openai: {base_url: %q}}\nagents:", model.URL+"/v1")), env...)
	p.until("worker runs")
	began := time.Now()
	send := temporal.Sender{Client: c, Attributes: func() bool { return false }}
	if err := send.Send(t.Context(), chat.Conversation{Team: "T1", Channel: channel, Thread: ts}, conversation.Signal{
		Policy: conversation.Policy{MinWait: 3600, MaxWait: 3600}, Changes: []conversation.Change{{TS: ts, Kind: conversation.Addressed}},
	}, "request"); err != nil {
		t.Fatal(err)
	}
	<-asked

	unlock := testserver.LockSQLite(t, path)
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	<-cut
	select { // the database is busy for a while
	case err := <-ended:
		ended <- err // and has recorded nothing
	case <-time.After(time.Second):
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	usage, err := db.Usage(t.Context(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if took := time.Since(began); took > stopTimeout+drainTimeout-time.Second { // mostly the first and a second
		t.Logf("it took %s, because the machine stalls: the call may have been made again, and its record given up", took)
		return
	}
	if err != nil || len(usage) != 1 || usage[0].Calls != 1 || usage[0].Failed != 1 {
		t.Errorf("usage is %+v, %v; want the call", usage, err)
	}
}
