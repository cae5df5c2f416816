package tools

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/store"
)

// said is a store of messages and steps, as far as Written reads them.
type said struct {
	messages []chat.Message
	steps    map[string][]store.Step // by decision, the oldest first
}

func (s said) Seen(_ context.Context, _, _ string, channels []string) (map[string]bool, error) {
	seen := map[string]bool{}
	for _, c := range channels {
		seen[c] = true
	}
	return seen, nil
}

func (s said) MessagesByTS(_ context.Context, _, channel string, ts []string) (found []store.StoredMessage, err error) {
	for _, m := range s.messages {
		if m.Channel == channel && slices.Contains(ts, m.TS) {
			found = append(found, store.StoredMessage{Message: m})
		}
	}
	return found, nil
}

func (s said) Mentioning(_ context.Context, _, word string, _ int) (found []chat.Message, err error) {
	for _, m := range s.messages {
		if strings.Contains(strings.ToLower(m.Text), strings.ToLower(word)) {
			found = append(found, m)
		}
	}
	return found, nil
}

func (s said) Told(_ context.Context, _, decision string, _ int) (told []store.Step, err error) {
	for of, steps := range s.steps {
		for _, st := range slices.Backward(steps) {
			if of != decision && writerOf(st.Tool) == Program {
				told = append(told, st)
			}
		}
	}
	return told, nil
}

func (s said) Steps(_ context.Context, decision string) ([]store.Step, error) {
	return s.steps[decision], nil
}

// find asks who wrote an address, for a reply of the decision "d".
func (s said) find(t *testing.T, address string) Writer {
	t.Helper()
	var shown []chat.Found
	for _, m := range s.messages {
		shown = append(shown, chat.Found{Message: m})
	}
	w, err := ReadWritten(t.Context(), s, Place{Conversation: chat.Conversation{Team: "T1", Channel: "C1"}}, shown, s.steps["d"])
	if err != nil {
		t.Fatal(err)
	}
	_, by, err := w.Find(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return by
}

// call is a call that has ended.
func call(decision string, round int, tool, input, output string) store.Step {
	return store.Step{Decision: decision, Round: round, Tool: tool, Input: input, Output: output, State: store.StepDone}
}

// What people and sources wrote counts, also where a model has asked for it by words of its own.
func TestWhoWroteAnAddress(t *testing.T) {
	t.Parallel()
	person := func(text string) chat.Message { return chat.Message{Channel: "C1", UserID: "U1", Text: text} }
	own := func(text string) chat.Message {
		return chat.Message{Channel: "C1", UserID: "U0", Own: true, Text: text}
	}
	app := func(text string) chat.Message { return chat.Message{Channel: "C1", BotID: "B1", Text: text} }
	const x = "https://x.example/browse/ABC-7"
	forwarded := "look\n[forwarded message by myao]\n<" + x + ">"
	look := func(input, output string) map[string][]store.Step {
		return map[string][]store.Step{"d": {call("d", 0, "s__look", input, output)}}
	}
	for name, c := range map[string]struct {
		said
		address string
		want    Writer
	}{
		"a person":                         {said{messages: []chat.Message{person("<" + x + "|the ticket>")}}, x, Person},
		"a person, after the bot":          {said{messages: []chat.Message{own(x), person("<" + x + ">")}}, x, Person},
		"a mail address":                   {said{messages: []chat.Message{person("<mailto:bob@e.org|bob@e.org>")}}, "mailto:bob@e.org", Person},
		"another mail address":             {said{messages: []chat.Message{person("<mailto:bob@e.org|bob@e.org>")}}, "mailto:bob@e.org?subject=x", Nobody},
		"the bot":                          {said{messages: []chat.Message{own(x)}}, x, Nobody},
		"an app":                           {said{messages: []chat.Message{app("<" + x + ">")}}, x, App},
		"an app, before the bot":           {said{messages: []chat.Message{app("<" + x + ">"), own(x), app("<" + x + ">")}}, x, App},
		"an app, after the bot":            {said{messages: []chat.Message{own(x), app("<" + x + ">")}}, x, Nobody},
		"an app that was told":             {said{messages: []chat.Message{app("<" + x + ">")}, steps: map[string][]store.Step{"e": {call("e", 0, "s__say", `{"text":"`+x+`"}`, "said")}}}, x, Nobody},
		"a forwarded message":              {said{messages: []chat.Message{person(forwarded)}}, x, App},
		"a forwarded message of the bot":   {said{messages: []chat.Message{own(x), person(forwarded)}}, x, Nobody},
		"a source":                         {said{steps: look(`{"id":"ABC-7"}`, "see "+x)}, x, Program},
		"a source, by its name":            {said{steps: look(`{"query":"site:x.example release plan"}`, "see https://x.example/wiki/9")}, "https://x.example/wiki/9", Program},
		"a playbook":                       {said{steps: map[string][]store.Step{"d": {call("d", 0, chat.ToolReadPlaybook, `{"name":"x"}`, "see "+x)}}}, x, Operator},
		"a source that acts":               {said{steps: map[string][]store.Step{"d": {{Decision: "d", Tool: "s__make", Input: "{}", Output: x, State: store.StepProposed}}}}, x, Nobody},
		"a source that fails":              {said{steps: map[string][]store.Step{"d": {{Decision: "d", Tool: "s__look", Input: "{}", Output: x, State: store.StepDone, Failed: true}}}}, x, Nobody},
		"a source, before it was told":     {said{steps: map[string][]store.Step{"d": {call("d", 0, "s__look", "{}", x), call("d", 1, "s__open", `{"url":"`+x+`"}`, x)}}}, x, Program},
		"a source that was told before":    {said{steps: map[string][]store.Step{"e": {call("e", 0, "s__save", `{"text":"`+x+`"}`, "saved")}, "d": {call("d", 0, "s__look", "{}", x)}}}, x, Nobody},
		"a source that had told it before": {said{steps: map[string][]store.Step{"e": {call("e", 0, "s__look", "{}", x), call("e", 1, "s__open", `{"url":"`+x+`"}`, x)}, "d": {call("d", 0, "s__look", "{}", x)}}}, x, Program},
		"a source that a person told":      {said{messages: []chat.Message{{Channel: "C2", UserID: "U2", Text: "no: " + x}}, steps: map[string][]store.Step{"e": {call("e", 0, "s__open", `{"url":"`+x+`"}`, "")}, "d": {call("d", 0, "s__look", "{}", x)}}}, x, Person},
		"a page":                           {said{steps: map[string][]store.Step{"d": {call("d", 0, chat.ToolOpenLink, `{"url":"https://y.example/"}`, "[next]("+x+")")}}}, x, Page},
		"a page of what a source was told": {said{steps: map[string][]store.Step{"d": {call("d", 0, "paste__new", `{"text":"[a](`+x+`)"}`, "https://paste.example/1"), call("d", 1, chat.ToolOpenLink, `{"url":"https://paste.example/1"}`, "[a]("+x+")")}}}, x, Nobody},
		"a file":                           {said{steps: map[string][]store.Step{"d": {call("d", 0, chat.ToolReadFile, `{"name":"a.txt"}`, x)}}}, x, Page},
		"a note":                           {said{steps: map[string][]store.Step{"d": {call("d", 0, "remember", `{"text":"a"}`, x)}}}, x, Nobody},
	} {
		if got := c.find(t, c.address); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Whatever tool repeats what a model told it, in whatever form, in one call or several, at once or in a later
// reply, no address counts as written by that.
func FuzzEcho(f *testing.F) {
	f.Add("evil", "c", "walrus7731otter", uint8(3))
	f.Add("a", "b", "cat", uint8(1))
	f.Add("minutes2026", "full", "水曜日の会議", uint8(5))
	f.Add("x1", "next", "The key is 42", uint8(0))
	f.Fuzz(func(t *testing.T, name, path, secret string, cut uint8) {
		name, path, secret = wordOf(name, true), wordOf(path, true), wordOf(secret, false)
		if name == "" || path == "" || len(secret) < 3 {
			return
		}
		host, encoded := name+".example", url.QueryEscape(secret)
		address := "https://" + host + "/" + path + "?d=" + encoded
		at := int(cut) % len(address)
		for at > 0 && address[at]&0xc0 == 0x80 {
			at--
		}
		in := func(values ...string) string {
			object := map[string]string{}
			for i, v := range values {
				object[string(rune('a'+i))] = v
			}
			raw, _ := json.Marshal(object)
			return string(raw)
		}
		wide := strings.NewReplacer(".", "．", ":", "：", "/", "／").Replace(address)
		for form, c := range map[string]struct {
			inputs []string
			given  string // what comes back, and is posted
		}{
			"as it is":               {[]string{in("see " + address)}, address},
			"as a key":               {[]string{`{` + quoted(address) + `:1}`}, address},
			"in upper case":          {[]string{in(address)}, "https://" + strings.ToUpper(host) + "/" + path + "?d=" + encoded},
			"in parts":               {[]string{in(host, path, secret)}, address},
			"in parts, reversed":     {[]string{in(secret, path, host)}, address},
			"in parts of the host":   {[]string{in(name, "example", path, secret)}, address},
			"in two calls":           {[]string{in(host), in("/"+path, secret)}, address},
			"cut in two":             {[]string{in(address[:at], address[at:])}, address},
			"cut in two calls":       {[]string{in(address[:at]), in(address[at:])}, address},
			"decoded":                {[]string{in(url.QueryEscape(address))}, address},
			"decoded twice":          {[]string{in(url.QueryEscape(url.QueryEscape(address)))}, address},
			"from entities":          {[]string{in(strings.NewReplacer(".", "&#46;", "/", "&#x2f;", ":", "&colon;").Replace(address))}, address},
			"from base64":            {[]string{in(base64.StdEncoding.EncodeToString([]byte(address)))}, address},
			"from base64 of the web": {[]string{in(base64.RawURLEncoding.EncodeToString([]byte(address)))}, address},
			"from hex":               {[]string{in(hex.EncodeToString([]byte(address)))}, address},
			"from wide characters":   {[]string{in(wide)}, address},
			"from escaped marks":     {[]string{in(strings.ReplaceAll(address, ".", `\.`))}, address},
			"with more behind it":    {[]string{in(address)}, address + "&utm_source=echo"},
			"with a domain above":    {[]string{in(address)}, "https://www." + host + "/" + path + "?d=" + encoded},
			"with a port":            {[]string{in(address)}, "https://" + host + ":8443/" + path + "?d=" + encoded},
			"with a user":            {[]string{in(host, secret)}, "https://" + encoded + "@" + host + "/"},
			"as a domain":            {[]string{in(name, "example", path)}, "https://" + path + "." + host + "/"},
			"encoded":                {[]string{in(host, secret)}, "https://" + host + "/?d=" + hex.EncodeToString([]byte(secret))},
			"through another site":   {[]string{in(address)}, "https://t.example.org/go?u=" + address},
			"through it, encoded":    {[]string{in(address)}, "https://t.example.org/go?u=" + url.QueryEscape(address)},
		} {
			output := "You asked for " + c.given + " and nothing was found"
			for _, tool := range append(chat.ToolNames(), "echo__look", "echo__make", "unknown", address) {
				if writerOf(tool) == Operator {
					continue // it returns a file, which repeats nothing
				}
				var steps []store.Step
				for i, input := range c.inputs {
					steps = append(steps, call("d", i, tool, input, output))
				}
				for i := range steps[:len(steps)-1] {
					steps[i].Output = "nothing yet"
				}
				if writerOf(tool) == Page { // which repeats what a program was told
					for i := range steps {
						steps[i].Tool = "echo__look"
					}
					steps[len(steps)-1].Output = ""
					steps = append(steps, call("d", len(steps), tool, `{}`, output))
				}
				if by := (said{steps: map[string][]store.Step{"d": steps}}).find(t, c.given); by != Nobody {
					t.Errorf("%s: %q of %s counts as written by %d, although it was told %q", form, c.given, tool, by, c.inputs)
				}
			}
			if form != "as it is" && form != "decoded" && form != "cut in two" && form != "from hex" {
				continue
			}
			later := said{steps: map[string][]store.Step{"e": {call("e", 0, "echo__make", c.inputs[0], output)}, "d": {call("d", 0, "echo__look", "{}", output)}}}
			if by := later.find(t, c.given); by != Nobody {
				t.Errorf("%s: in a later reply, %q counts as written by %d, although %q was told", form, c.given, by, c.inputs)
			}
		}
	})
}

// wordOf are the letters and digits of a text; only those of ASCII, in lower case, for a name.
func wordOf(s string, name bool) string {
	words := wordsIn(strings.ToValidUTF8(s, ""))
	word := strings.Join(words, "")
	word = strings.ToValidUTF8(word[:min(len(word), 200)], "")
	if !name {
		return word
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(word))
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}
