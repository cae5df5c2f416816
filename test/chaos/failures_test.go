package chaos

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"sync"
	"time"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/world"
)

// slackFaults are failures of Slack's Web API, mostly of posting. Recovery from the last ones is
// slow. None hides a message for longer than the lease of an attempt: after that, what Slack
// shows is the only way to know whether a killed worker has posted.
var slackFaults = []workspace.Fault{
	{Method: "chat.postMessage", Status: 429, RetryAfter: "1"},
	{Method: "chat.postMessage", Status: 429},
	{Method: "chat.postMessage", Status: 500},
	{Method: "chat.postMessage", Status: 503},
	{Method: "chat.postMessage", LoseAnswer: true},
	{Method: "chat.postMessage", Error: "fatal_error"},
	{Method: "chat.postMessage", AfterEffect: true, Status: 500},
	{Method: "chat.postMessage", AfterEffect: true, Status: 503},
	{Method: "chat.postMessage", AfterEffect: true, LoseAnswer: true},
	{Method: "chat.postMessage", AfterEffect: true, Garble: true},
	{Method: "chat.postMessage", AfterEffect: true, Error: "internal_error"},
	{Method: "chat.postMessage", AfterEffect: true, Status: 503, Hide: time.Second},
	{Method: "chat.postMessage", AfterEffect: true, LoseAnswer: true, Hide: time.Second},
	{Method: "chat.postMessage", Delay: 2 * time.Second},
	{Method: "conversations.history", Status: 500},
	{Method: "conversations.history", Status: 429, RetryAfter: "1"},
	{Method: "conversations.replies", LoseAnswer: true},
	{Method: "conversations.replies", Status: 503},
	{Method: "conversations.replies", Garble: true},
	{Method: "auth.test", Status: 503},
	{Method: "auth.test", LoseAnswer: true},
	{Method: "users.info", Status: 500},
	{Method: "users.conversations", Error: "internal_error"},
	{Method: "chat.postMessage", AfterEffect: true, Delay: 12 * time.Second},
	{Method: "chat.postMessage", AfterEffect: true, Delay: 12 * time.Second, Hide: time.Second},
}

// slowSlackFaults is the number of slow ones at the end of slackFaults.
const slowSlackFaults = 2

func slackFault(f workspace.Fault) string {
	var b strings.Builder
	b.WriteString(f.Method)
	if f.AfterEffect {
		b.WriteString(" done, then")
	}
	switch {
	case f.Status != 0:
		fmt.Fprintf(&b, " %d", f.Status)
	case f.LoseAnswer:
		b.WriteString(" connection lost")
	case f.Garble:
		b.WriteString(" no JSON")
	case f.Error != "":
		b.WriteString(" " + f.Error)
	case f.Delay != 0:
		fmt.Fprintf(&b, " %s late", f.Delay)
	}
	if f.Hide != 0 {
		fmt.Fprintf(&b, ", hidden for %s", f.Hide)
	}
	return b.String()
}

// modelFaults are failures of the model. nonsense is only served for judgments.
var modelFaults = []struct {
	name  string
	reply llmtest.Reply
}{
	{"503", llmtest.Fail(503)},
	{"500", llmtest.Fail(500)},
	{"429 with Retry-After", llmtest.Reply{Status: 429, RetryAfter: "1"}},
	{"429", llmtest.Fail(429)},
	{"connection lost", llmtest.Reply{Drop: true}},
	{"broken JSON", llmtest.Reply{Malformed: true}},
	{"slow", llmtest.Reply{Delay: 3 * time.Second}},
	{nonsense, llmtest.Text("I would rather not say.")},
}

const nonsense = "no verdict"

// model is the fake model. It judges by the mark in the conversation's newest message. All its
// answers are different.
type model struct {
	seed uint64

	mu       sync.Mutex
	next     []string // how the next calls fail
	answers  int
	nonsense time.Time // when a judgment was last answered with nonsense
	failed   map[string]int
}

// fail makes the next calls fail.
func (m *model) fail(how string, times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range times {
		m.next = append(m.next, how)
	}
}

func (m *model) stopFailing() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = nil
}

func (m *model) handle(c llmtest.Call) llmtest.Reply {
	reply := m.answer(c)
	failure, fails := m.take(c)
	switch {
	case !fails:
		return reply
	case failure.Delay > 0:
		reply.Delay = failure.Delay
		return reply
	default:
		return failure
	}
}

// take returns the failure for this call, if one is due.
func (m *model) take(c llmtest.Call) (llmtest.Reply, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.next) == 0 {
		return llmtest.Reply{}, false
	}
	how := m.next[0]
	if how == nonsense {
		// Twice in one judgment would rightly lead to silence.
		if !c.Judgment() || strings.Contains(c.User, "could not be read") || c.At.Sub(m.nonsense) < 5*time.Second {
			return llmtest.Reply{}, false
		}
		m.nonsense = c.At
	}
	m.next = m.next[1:]
	m.failed[how]++
	for _, f := range modelFaults {
		if f.name == how {
			return f.reply, true
		}
	}
	return llmtest.Reply{}, false
}

func (m *model) answer(c llmtest.Call) llmtest.Reply {
	mark := newestMark(c.System)
	switch {
	case c.Model == world.MemoryModel:
		return llmtest.Text("- 2026-01-01: people talked.")
	case c.Judgment() && mark.kind == question:
		return llmtest.Yes("somebody asked "+mark.text, 0.9, mark.delay)
	case c.Judgment():
		return llmtest.No("nobody asked: " + mark.text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers++
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, m.answers)
	return llmtest.Reply{
		// Only the number: the text must not look like a mark in the next prompt.
		Text:  fmt.Sprintf("answer %d, to message %d", m.answers, mark.n),
		Delay: time.Duration(h.Sum64()%800) * time.Millisecond,
	}
}

// mark is the part of a message's text that tells the model the message's kind.
type mark struct {
	text  string
	kind  kind
	n     int
	delay int
}

// text returns the message's text with its mark.
func (a act) text(bot string) string {
	switch a.kind {
	case mention:
		return fmt.Sprintf("<@%s> what about hey-%d?", bot, a.n)
	case question:
		return fmt.Sprintf("does anybody know about yes-%d-d%d?", a.n, a.delay)
	case stranger: // without a mark, because only people's messages are judged
		return fmt.Sprintf("build %d has passed", a.n)
	default:
		return fmt.Sprintf("just saying, no-%d", a.n)
	}
}

var marks = regexp.MustCompile(`\b(?:hey|yes|no)-(\d+)(?:-d(\d))?\b`)

// newestMark returns the newest mark in the prompt's section of the conversation to judge or
// answer.
func newestMark(prompt string) mark {
	for _, heading := range []string{"\n## To judge: ", "\n## Thread to judge: ", "\n## To answer: ", "\n## Thread to answer: "} {
		if _, after, found := strings.Cut(prompt, heading); found {
			prompt = after
			break
		}
	}
	prompt, _, _ = strings.Cut(prompt, "\n---\n")
	prompt, _, _ = strings.Cut(prompt, "\n### Thread: ") // without a top level's threads
	all := marks.FindAllStringSubmatch(prompt, -1)
	if len(all) == 0 {
		return mark{text: "nothing"}
	}
	newest := all[len(all)-1]
	m := mark{text: newest[0], kind: chatter}
	switch newest[0][0] {
	case 'h':
		m.kind = mention
	case 'y':
		m.kind = question
	}
	_, _ = fmt.Sscan(newest[1], &m.n)
	if newest[2] != "" {
		_, _ = fmt.Sscan(newest[2], &m.delay)
	}
	return m
}
