package prompt

import (
	"testing"
	"time"

	"myao/internal/chat"
)

func TestPromiseGolden(t *testing.T) {
	t.Parallel()
	const thread = "1709280000.000001"
	look := Promise{Asker: "U1", What: "## Who takes the notes?", Unless: "somebody has answered", Made: chat.Time(at(10, 10)), Due: noon}
	o := Options{Now: noon, AnswerTS: at(10, 10), Names: map[string]string{"U1": "alice", "U2": "bob"}}
	for _, language := range []string{"en", "ja"} {
		r := renderer(t, Config{Language: language})
		judged, reminding := o, o
		judged.Promise, judged.Pending = &look, []string{at(10, 15)}
		goldenPrompt(t, language+"/promise_seed003_thread", r.Promise, seed003(thread), judged)
		reminding.Promise = &Promise{What: "stretch", Every: "week", Made: chat.Time(at(10, 10)), Due: noon}
		waiting, over := judged, judged
		waits := Promise{Asker: "U1", What: "PR 42 is merged", Until: "github", Waits: true, Made: chat.Time(at(10, 10)), Due: noon.Add(time.Hour),
			Events: []HookEvent{{At: noon, Text: "# action: closed\npull_request.number: 42"}}}
		waiting.Promise = &waits
		late := waits
		late.Waits, late.Events = false, nil
		over.Promise = &late
		for name, o := range map[string]Options{"waiting": waiting, "waited": over} {
			goldenPrompt(t, language+"/promise_"+name, r.Promise, seed003(thread), o)
		}
		for name, o := range map[string]Options{"look": judged, "reminder": reminding, "waiting": waiting, "waited": over} {
			goldenPrompt(t, language+"/kept_"+name, r.Response, seed003(thread), o)
		}
	}
}
