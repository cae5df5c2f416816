package chatops

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/answer/playbook"
	"myao/internal/chat"
	"myao/internal/slack"
	"myao/internal/store"
)

// shown remembers the newest Home tab.
type shown []slack.HomeSection

func (s *shown) PublishHome(_ context.Context, _ string, sections []slack.HomeSection) error {
	*s = sections
	return nil
}

func (*shown) OpenForm(context.Context, string, slack.Form) error { return nil }

// isIn is the channels that everybody is in.
type isIn []string

func (in isIn) ConversationsOf(context.Context, string, string) (page slack.ChannelPage, err error) {
	for _, id := range in {
		page.Channels = append(page.Channels, slack.Channel{ID: id})
	}
	return page, nil
}

// However much there is in channels that a viewer may not know of, or of others' in theirs, their own is shown.
func TestHomeShowsTheViewersOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"C1", "C2"} {
		must(t, b.Store.SaveChannel(t.Context(), "T1", store.Channel{ID: id, Name: "name of " + id, Private: true, Member: true, Refreshed: noon}))
	}
	for i := range maxHomeRows + 1 {
		at := fmt.Sprintf("17723664%02d.%06d", i%60, i+1)
		b.promise(t, store.Promise{Choice: store.Choice{ID: fmt.Sprint("other", i), ChannelID: "C2", ThreadTS: at, TriggerTS: at, Asker: "U9"}, What: "not for U1"}, 1)
		b.promise(t, store.Promise{Choice: store.Choice{ID: fmt.Sprint("colleague", i), ThreadTS: at, TriggerTS: at, Asker: "U2"}, What: "for all in C1"}, 2)
	}
	b.promise(t, store.Promise{Choice: store.Choice{ID: "own", TriggerTS: "1772366401.000100", Asker: "UOUT1"}, What: "what UOUT1 asked for"}, 3)
	b.propose(t, chat.Conversation{Team: "T1", Channel: "C1", Thread: "1772366401.000200"})
	for i := range maxHomeRows + 1 {
		in := chat.Conversation{Team: "T1", Channel: "C2", Thread: fmt.Sprintf("17723665%02d.%06d", i%60, i+1)}
		decision := fmt.Sprint("other/", i)
		p := &store.Proposal{Choice: store.Choice{Asker: "U9"}, Server: "vault", LapsesUS: time.Now().Add(time.Hour).UnixMicro()}
		_, err := b.Store.SaveTurn(t.Context(), in, in.Thread, store.Turn{Decision: decision, Steps: []store.Step{{Tool: "vault__open", Input: "{}", State: store.StepProposed, Proposal: p}}})
		must(t, err)
		_, err = b.Store.ShowProposals(t.Context(), decision, "1772366501.000100")
		must(t, err)
	}
	var tab shown
	dir, discard := t.TempDir(), slog.New(slog.DiscardHandler)
	must(t, os.WriteFile(filepath.Join(dir, "deploy.md"), []byte("# Deploy by hand\n\nWhen?"), 0o600))
	home := &Home{Handler: b.Handler, Publisher: &tab, Playbooks: playbook.Open(dir, discard)}
	for _, test := range []struct {
		viewer   Viewer
		contains []string
		not      []string
	}{
		{Viewer{User: "U1", Own: own}, []string{"for all in C1", "… and 85 more", "desk", "I go by these playbooks: Deploy by hand."}, []string{"not for U1", "vault"}},
		{Viewer{User: "UOUT1", Own: own, Outsider: true}, []string{"what UOUT1 asked for"}, []string{"for all in C1", "vault", "playbooks"}},
	} {
		must(t, home.Publish(t.Context(), test.viewer, slack.Answer{}))
		var texts []string
		for _, s := range tab {
			texts = append(texts, s.Text)
		}
		text := strings.Join(texts, "\n")
		for _, want := range test.contains {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not see %q in\n%s", test.viewer.User, want, text)
			}
		}
		for _, not := range test.not {
			if strings.Contains(text, not) {
				t.Errorf("%s sees %q in\n%s", test.viewer.User, not, text)
			}
		}
		if want := []string{"C1"}; !slices.Equal(b.operator.filter.Channels, want) {
			t.Errorf("conversations are asked for in %q, want %q", b.operator.filter.Channels, want)
		}
	}
}
