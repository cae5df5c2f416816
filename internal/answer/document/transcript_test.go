package document

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"myao/internal/chat"
	"myao/internal/slack"
)

const vtt = "\ufeffWEBVTT - a talk\r\n\r\nNOTE\r\nwho --> when\r\n\r\nSTYLE\r\n::cue { color: red }\r\n\r\n1\r\n00:00.000 --> 00:02.500 align:left\r\n" +
	"<v.loud Ann &amp; Bo>Shall we\r\n<c.big>ship</c> it?</v>\r\n\r\n2\r\n00:00:03.000 --> 00:00:05.000\r\n<v Cy>If 3 &lt; 4,\r\n\r\n00:05.000 --> 00:06.000\r\n<v Cy><00:05.500>yes. <i></i>\r\n"

func TestTranscript(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	read := func(of chat.Transcript, body string, err error) (chat.Transcript, string, error) {
		f := slack.File{File: chat.File{ID: "F1", Name: "note.m4a", MIME: "audio/mp4", Transcript: of}, VTT: "https://files.slack.com/v"}
		s := &fakeSlack{files: map[string]slack.File{"F1": f}, bodies: map[string][]byte{"F1": []byte(body)}, bodyErr: err}
		r := reader(s)
		r.Metrics = metrics
		got, readErr := r.Transcript(t.Context(), f.File)
		text, _, shown := r.Read(t.Context(), f.File)
		if shown != nil {
			text = shown.Error()
		}
		return got, text, readErr
	}
	begun := chat.Transcript{Text: "Shall", Cut: true}
	said := "Ann & Bo: Shall we ship it?\nCy: If 3 < 4, yes."
	head := `The file "note.m4a" is a recording. This is Slack's transcript of it, which may be misheard`
	for name, tc := range map[string]struct {
		of   chat.Transcript
		body string
		err  error
		want chat.Transcript
		text string
	}{
		"a short one":       {chat.Transcript{Text: "hello"}, "", nil, chat.Transcript{Text: "hello"}, head + ":\n\nhello"},
		"a longer one":      {begun, vtt, nil, chat.Transcript{Text: said}, head + ":\n\n" + said},
		"being made":        {chat.Transcript{Pending: true}, "", nil, chat.Transcript{Pending: true}, "still writing down"},
		"none":              {chat.Transcript{}, "", nil, chat.Transcript{}, "cannot be read"},
		"no WebVTT":         {begun, "Shall we ship it?", nil, begun, ", of which only the beginning could be read:\n\nShall"},
		"one that is gone":  {begun, "", &slack.Error{Code: "http_404", Kind: slack.Final}, begun, "Shall"},
		"one that is large": {begun, strings.Repeat(vtt, 1<<13), nil, begun, "Shall"},
	} {
		got, text, err := read(tc.of, tc.body, tc.err)
		if err != nil || got != tc.want || !strings.Contains(text, tc.text) {
			t.Errorf("%s: %+v, %v, %q", name, got, err, text)
		}
	}
	counted, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range counted[0].GetMetric() {
		if n := m.GetCounter().GetValue(); n > 0 {
			got[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = n
		}
	}
	if want := map[string]float64{"recording read": 2, "recording beginning": 3, "recording refused": 2}; !maps.Equal(got, want) {
		t.Errorf("counted are %v, want %v", got, want)
	}
	long := "WEBVTT\n\n" + strings.Repeat("00:00.000 --> 00:01.000\n"+strings.Repeat("あ", 99)+"\n\n", 300)
	if got, _, err := read(begun, long, nil); err != nil || len([]rune(got.Text)) != chat.MaxTranscript || !got.Cut || got.Unfinished() {
		t.Errorf("a talk: %d characters, %v", len([]rune(got.Text)), err)
	}
	if _, _, err := read(begun, "", &slack.Error{Code: "ratelimited", Kind: slack.RateLimited}); !errors.As(err, new(*slack.Error)) {
		t.Errorf("an error that passes: %v", err)
	}
}
