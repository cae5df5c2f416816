package channels

import (
	"fmt"
	"testing"
	"time"

	"myao/internal/chat"
	"myao/internal/store"
)

func TestName(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	now := noon
	d.Clock = func() time.Time { return now }
	named := func(id, name string) func() {
		return func() { d.save(t, store.Channel{ID: id, Name: name}) }
	}
	for _, step := range []struct {
		what    string
		do      func()
		channel string
		want    string
	}{
		{"read for the first time", named("C1", "general"), "C1", "general"},
		{"renamed a moment ago", named("C1", "lobby"), "C1", "general"},
		{"of another channel", named("C2", "random"), "C2", "random"},
		{"a direct message", named("D1", "nobody"), "D1", ""},
		{"after a while", func() { now = now.Add(nameFor) }, "C1", "lobby"},
		{"not known", func() {}, "C3", ""},
		{"known since a moment ago", named("C3", "attic"), "C3", "attic"},
		{"when the database is away", func() {
			now = now.Add(nameFor)
			if err := d.Store.(*store.Store).Close(); err != nil {
				t.Fatal(err)
			}
		}, "C1", "lobby"},
		{"never read", func() {}, "C4", ""},
	} {
		step.do()
		if got := d.Name(t.Context(), "T1", step.channel); got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	for i := range 2*namesKept + 1 {
		id := fmt.Sprint("C", i)
		d.names.put(chat.Scope{Channel: id}, named{id, noon})
	}
	if n := len(d.names.known); n > namesKept {
		t.Errorf("%d names are kept, want at most %d", n, namesKept)
	}
}
