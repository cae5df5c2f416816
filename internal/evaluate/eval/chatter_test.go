package eval

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what tests compare with")

const workspaceDir = "../../../evals/memory/"

// readChatter reads what people say besides what is asked about, by language: sentences, and the words
// for their slots. They are the words of the questions, so that a search has something to confuse.
func readChatter(t *testing.T) (sentences [2][]string, slots [2]map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(workspaceDir + "chatter.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n\n") {
		slots[i] = map[string][]string{}
		for line := range strings.Lines(part) {
			if slot, words, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
				slots[i][slot] = strings.Split(words, ",")
			} else {
				sentences[i] = append(sentences[i], slot)
			}
		}
	}
	return sentences, slots
}

// workspaceFile makes people, channels and chatter. They are the same each time.
func workspaceFile(t *testing.T) []byte {
	t.Helper()
	sentences, slots := readChatter(t)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	put := func(kind string, v any) { _ = e.Encode(map[string]any{kind: v}) } // a buffer takes everything
	names := []string{"maya", "tom", "oskar", "priya", "森田", "小川", "藤井", "早川", "kim"}
	for i, name := range names {
		put("person", Person{ID: fmt.Sprintf("U%d", i+1), Name: name})
	}
	for _, c := range []Place{
		{ID: "C01", Name: "general"}, {ID: "C02", Name: "ops"}, {ID: "C03", Name: "product"},
		{ID: "C04", Name: "leads", Private: true}, {ID: "D05", Private: true}, {ID: "C06", Name: "with-lumen", Shared: true}, {ID: "D07", Private: true, Guest: "U9"},
	} {
		put("channel", c)
	}
	random := rand.New(rand.NewPCG(31, 15))
	places := strings.Fields("C01 C01 C01 C01 C02 C02 C02 C02 C03 C03 C03 C04 C04 D05 C06 C06 D07")
	members := map[string][]int{"C04": {0, 3, 4, 5}, "D05": {4}, "D07": {8}}
	numbers := random.Perm(9000)
	parents := map[string]Said{}
	const count, days = 1270, 60
	for i := range count {
		language := random.IntN(2)
		said := sentences[language]
		text := strings.ReplaceAll(said[random.IntN(len(said))], "{n}", fmt.Sprint(1000+numbers[i]))
		for _, slot := range []string{"thing", "service", "company", "who", "time"} {
			words := slots[language][slot]
			text = strings.ReplaceAll(text, "{"+slot+"}", words[random.IntN(len(words))])
		}
		m := Said{ID: fmt.Sprintf("c%04d", i), Channel: places[random.IntN(len(places))], Text: text}
		m.At = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC).AddDate(0, 0, i*days/count).Add(time.Duration(i*days%count) * 10 * time.Hour / count).Truncate(time.Second)
		who := members[m.Channel]
		if who == nil {
			who = []int{language * 4, language*4 + 1, language*4 + 2, language*4 + 3}
		}
		m.By = fmt.Sprintf("U%d", 1+who[random.IntN(len(who))])
		if parent := parents[m.Channel]; parent.ID != "" && random.IntN(4) == 0 {
			m.Thread = parent.ID
		} else {
			parents[m.Channel] = m
		}
		put("message", m)
	}
	return out.Bytes()
}

func TestWorkspaceFile(t *testing.T) {
	t.Parallel()
	const path = workspaceDir + "workspace.jsonl"
	want := workspaceFile(t)
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what this test makes; go test ./internal/evaluate/eval -run TestWorkspaceFile -update writes it (%v)", path, err)
	}
}
