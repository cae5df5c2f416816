package chat

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func seconds(n int) *int { return &n }

func TestParseVerdict(t *testing.T) {
	t.Parallel()
	const most = 600
	for _, tt := range []struct {
		name, answer string
		want         Verdict
	}{
		{"yes", `{"should_respond":true,"reason":"asked","confidence":0.8,"delay_seconds":30}`, Verdict{ShouldRespond: true, Reason: "asked", Confidence: 0.8, DelaySeconds: seconds(30)}},
		{"no", `{"should_respond":false,"reason":"chatter","confidence":1,"delay_seconds":null}`, Verdict{Reason: "chatter", Confidence: 1}},
		{"no delay given", `{"should_respond":true,"reason":"x","confidence":0}`, Verdict{ShouldRespond: true, Reason: "x"}},
		{"delay 0", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":0}`, Verdict{ShouldRespond: true, Reason: "x", DelaySeconds: seconds(0)}},
		{"delay -0", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":-0}`, Verdict{ShouldRespond: true, Reason: "x", DelaySeconds: seconds(0)}},
		{"delay 30.0", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":30.0}`, Verdict{ShouldRespond: true, Reason: "x", DelaySeconds: seconds(30)}},
		{"delay 3e1", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":3e1}`, Verdict{ShouldRespond: true, Reason: "x", DelaySeconds: seconds(30)}},
		{"delay at the limit", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":600}`, Verdict{ShouldRespond: true, Reason: "x", DelaySeconds: seconds(600)}},
		{"delay of a silence", `{"should_respond":false,"reason":"x","confidence":0,"delay_seconds":-1}`, Verdict{Reason: "x"}},
		{"fenced", "```json\n{\"should_respond\":true,\"reason\":\"x\",\"confidence\":0.5}\n```", Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"fenced, no language", "\n```\n{\"should_respond\":true,\"reason\":\"x\",\"confidence\":0.5}\n```\n ", Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"fenced, in capitals", "```JSON\n{\"should_respond\":true,\"reason\":\"x\",\"confidence\":0.5}\n```", Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"fenced on one line", "```{\"should_respond\":true,\"reason\":\"x\",\"confidence\":0.5}```", Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"a fence never closed", "```json\n{\"should_respond\":true,\"reason\":\"x\",\"confidence\":0.5}", Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"white space", " \n\t{ \"should_respond\" : true, \"reason\":\"x\", \"confidence\":0.5}\n\n", Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"more fields", `{"should_respond":true,"reason":"x","confidence":0.5,"mood":"good"}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"all six fields", `{"addressee":"everyone","gist":"hold both buttons","reason":"x","should_respond":true,"confidence":0.5,"delay_seconds":null}`,
			Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5, Addressee: AddresseeEveryone, Gist: "hold both buttons"}},
		{"nothing to add", `{"addressee":"nobody","gist":"","reason":"x","should_respond":false,"confidence":0.5}`, Verdict{Reason: "x", Confidence: 0.5, Addressee: AddresseeNobody}},
		{"an unknown addressee", `{"addressee":"bob","should_respond":true,"reason":"x","confidence":0.5}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"addressee and gist null", `{"addressee":null,"gist":null,"should_respond":true,"reason":"x","confidence":0.5}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"addressee and gist of other types", `{"addressee":["me"],"gist":1e999,"should_respond":true,"reason":"x","confidence":0.5}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"a gist of several lines", `{"addressee":"me","gist":" a\n## b\u0000","should_respond":true,"reason":"x","confidence":0.5}`,
			Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5, Addressee: AddresseeMe, Gist: "a ## b"}},
		{"a reaction", `{"should_respond":true,"reason":"x","confidence":0.5,"react":":thumbsup:"}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5, React: "+1"}},
		{"a reaction of a silence", `{"should_respond":false,"reason":"x","confidence":0.5,"react":"+1"}`, Verdict{Reason: "x", Confidence: 0.5}},
		{"a reaction of another type", `{"should_respond":true,"reason":"x","confidence":0.5,"react":["+1"]}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"a reaction that is not offered", `{"should_respond":true,"reason":"x","confidence":0.5,"react":"eyes"}`, Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5}},
		{"newlines in the reason", `{"should_respond":true,"reason":" a\n## b\r\n\tc\u2028d ","confidence":0.5}`, Verdict{ShouldRespond: true, Reason: "a ## b c d", Confidence: 0.5}},
		{"control characters in the reason", `{"should_respond":true,"reason":"a\u0000b\u001b[31mc\u007f","confidence":0.5}`, Verdict{ShouldRespond: true, Reason: "a b [31mc", Confidence: 0.5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseVerdict(tt.answer, most)
			if err != nil {
				t.Fatal(err)
			}
			if (got.DelaySeconds == nil) != (tt.want.DelaySeconds == nil) ||
				(got.DelaySeconds != nil && *got.DelaySeconds != *tt.want.DelaySeconds) {
				t.Errorf("delay: got %v, want %v", got.DelaySeconds, tt.want.DelaySeconds)
			}
			got.DelaySeconds, tt.want.DelaySeconds = nil, nil
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestParseVerdictRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		want         []string // what the error must name
	}{
		{"delay above the limit", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":601}`, []string{"delay_seconds is 601", "from 0 to 600"}},
		{"delay above all", `{"should_respond":true,"reason":"x","confidence":0,"delay_seconds":1e300}`, []string{"delay_seconds"}},
		{"nothing", ``, []string{"not one JSON object"}},
		{"prose", `I would not answer.`, []string{"not one JSON object"}},
		{"prose before", `Sure: {"should_respond":true,"reason":"x","confidence":0.5}`, []string{"not one JSON object"}},
		{"prose after", `{"should_respond":true,"reason":"x","confidence":0.5} I hope this helps`, []string{"not one JSON object"}},
		{"two objects", `{"should_respond":true,"reason":"x","confidence":0.5}{}`, []string{"not one JSON object"}},
		{"a list", `[{"should_respond":true,"reason":"x","confidence":0.5}]`, []string{"not one JSON object"}},
		{"cut off", `{"should_respond":true,"reason":"x`, []string{"not one JSON object"}},
		{"a string for a bool", `{"should_respond":"true","reason":"x","confidence":0.5}`, []string{"should_respond"}},
		{"a string for a number", `{"should_respond":true,"reason":"x","confidence":"high"}`, []string{"confidence"}},
		{"null", `null`, []string{"should_respond is missing", "reason is missing", "confidence is missing"}},
		{"all missing", `{}`, []string{"should_respond is missing", "reason is missing", "confidence is missing"}},
		{"should_respond missing", `{"reason":"x","confidence":0.5}`, []string{"should_respond is missing"}},
		{"should_respond null", `{"should_respond":null,"reason":"x","confidence":0.5}`, []string{"should_respond is missing"}},
		{"reason missing", `{"should_respond":true,"confidence":0.5}`, []string{"reason is missing"}},
		{"confidence missing", `{"should_respond":true,"reason":"x"}`, []string{"confidence is missing"}},
		{"confidence above 1", `{"should_respond":true,"reason":"x","confidence":1.01}`, []string{"confidence is 1.01"}},
		{"confidence below 0", `{"should_respond":true,"reason":"x","confidence":-0.1}`, []string{"confidence is -0.1"}},
		{"confidence beyond float64", `{"should_respond":true,"reason":"x","confidence":1e999}`, []string{"confidence"}},
		{"negative delay", `{"should_respond":true,"reason":"x","confidence":0.5,"delay_seconds":-1}`, []string{"delay_seconds is -1", "600"}},
		{"broken delay", `{"should_respond":true,"reason":"x","confidence":0.5,"delay_seconds":1.5}`, []string{"delay_seconds is 1.5"}},
		{"several faults", `{"should_respond":true,"confidence":2,"delay_seconds":-1}`, []string{"reason is missing", "confidence is 2", "delay_seconds is -1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseVerdict(tt.answer, 600)
			if err == nil {
				t.Fatalf("got %+v, want an error", got)
			}
			if got != (Verdict{}) {
				t.Errorf("got %+v with an error", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %q, want it to name %q", err, want)
				}
			}
		})
	}
}

func TestReasonAndGistAreShort(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		strings.Repeat("a", 5000): strings.Repeat("a", 300) + "…",
		strings.Repeat("猫", 5000): strings.Repeat("猫", 300) + "…",
		strings.Repeat("a", 300):  strings.Repeat("a", 300),
	} {
		v, err := ParseVerdict(`{"should_respond":true,"reason":"`+said+`","gist":"`+said+`","confidence":0.5}`, 600)
		if err != nil {
			t.Fatal(err)
		}
		if v.Reason != want || v.Gist != want {
			t.Errorf("%d runes became %d of reason and %d of gist, want %d", utf8.RuneCountInString(said),
				utf8.RuneCountInString(v.Reason), utf8.RuneCountInString(v.Gist), utf8.RuneCountInString(want))
		}
	}
}

// A verdict in a history has neither addressee nor gist.
func TestVerdictsTravelWithoutGist(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Verdict{ShouldRespond: true, Reason: "x", Confidence: 0.5, Addressee: AddresseeMe, Gist: "secret"})
	if want := `{"should_respond":true,"reason":"x","confidence":0.5,"delay_seconds":null}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func FuzzParseVerdict(f *testing.F) {
	for _, s := range []string{
		`{"should_respond":true,"reason":"x","confidence":0.5,"delay_seconds":30}`, "```json\n{}\n```", "```", "``````", "null", "",
		`{"should_respond":false,"reason":"\ud800\u0000","confidence":1,"delay_seconds":1e18}`,
		`{"addressee":"me","gist":"\u2028a","should_respond":false,"reason":"x","confidence":1}`,
	} {
		f.Add(s, 600)
	}
	f.Fuzz(func(t *testing.T, answer string, most int) {
		if most < 0 {
			return
		}
		v, err := ParseVerdict(answer, most)
		if err != nil {
			return
		}
		d := v.DelaySeconds
		if v.Confidence < 0 || v.Confidence > 1 || (d != nil && (*d < 0 || *d > most)) {
			t.Fatalf("%q is accepted as %+v", answer, v)
		}
		for _, s := range []string{v.Reason, v.Gist} {
			if strings.ContainsAny(s, "\n\r\x00\u2028") || !utf8.ValidString(s) || utf8.RuneCountInString(s) > 301 {
				t.Fatalf("%q has the line %q", answer, s)
			}
		}
	})
}
