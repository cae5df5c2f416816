package chat

import (
	"fmt"
	"testing"
	"time"
)

// benchChannel is n messages of a channel at the top level and in ten threads, newest first as in
// the database.
func benchChannel(n int) []Message {
	const threads = 10
	began := time.Unix(1_700_000_000, 100_000).UTC()
	messages := make([]Message, n)
	for i := range messages {
		thread := ""
		if i >= threads && i%4 != 0 {
			thread = TS(began.Add(time.Duration(i%threads) * time.Minute))
		}
		messages[n-1-i] = message(TS(began.Add(time.Duration(i)*time.Minute)), thread, fmt.Sprint("message ", i))
	}
	return messages
}

func BenchmarkNewChannelMessages(b *testing.B) {
	messages := benchChannel(100)
	b.ReportAllocs()
	for b.Loop() {
		if c := NewChannelMessages("C1", "general", messages); len(c.All()) != 100 {
			b.Fatalf("%d messages", len(c.All()))
		}
	}
}

func BenchmarkTrim(b *testing.B) {
	messages := benchChannel(100)
	thread := messages[0].ThreadTS
	c := NewChannelMessages("C1", "general", messages)
	b.ReportAllocs()
	for b.Loop() {
		if trimmed := c.Trim(thread, 5, ""); trimmed.Omitted == 0 {
			b.Fatal("nothing was trimmed")
		}
	}
}

func BenchmarkParseVerdict(b *testing.B) {
	const body = `{"should_respond": true, "reason": "asked ten minutes ago, and nobody has answered yet", "confidence": 0.8, "delay_seconds": 60}`
	for _, answer := range []struct{ name, text string }{
		{"plain", body},
		{"fenced", "```json\n" + body + "\n```"},
		{"japanese", `{"should_respond": false, "reason": "質問に bob さんが答えていて、話はまとまっている", "confidence": 0.9, "delay_seconds": null}`},
	} {
		b.Run("answer="+answer.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseVerdict(answer.text, 600); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
