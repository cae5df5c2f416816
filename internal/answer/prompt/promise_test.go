package prompt

import (
	"testing"

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
		for name, o := range map[string]Options{"look": judged, "reminder": reminding} {
			goldenPrompt(t, language+"/kept_"+name, r.Response, seed003(thread), o)
		}
	}
}
