package slack

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// benchEvents are events with all fields that Slack sends.
func benchEvents() map[string][]byte {
	const text = `<@UBOT> does anybody know where the <https://example.com/plan?a=1&amp;b=2|plan> for the release is?`
	const blocks = `[{"type":"rich_text","block_id":"b1","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"UBOT"},` +
		`{"type":"text","text":" does anybody know where the "},{"type":"link","url":"https://example.com/plan?a=1&b=2","text":"plan"},{"type":"text","text":" for the release is?"}]}]}]`
	const client = `"client_msg_id":"c0ffee00-0000-4000-8000-000000000001"`
	said := func(kind, ts string) string {
		return fmt.Sprintf(`{"user":"U1","type":%q,"ts":%q,%s,"text":%q,"team":"T1","thread_ts":"1699999000.000100","parent_user_id":"U2","blocks":%s,"channel":"C1","event_ts":%q,"channel_type":"channel"}`,
			kind, ts, client, text, blocks, ts)
	}
	inner := func(text, more string) string {
		return fmt.Sprintf(`{"user":"U1","type":"message","ts":"1700000000.000100",%s,"text":%q,"team":"T1","blocks":%s%s}`, client, text, blocks, more)
	}
	events := map[string][]byte{}
	for name, event := range map[string]string{
		"message":     said("message", "1700000000.000100"),
		"app_mention": said("app_mention", "1700000000.000100"),
		"edit": fmt.Sprintf(`{"type":"message","subtype":"message_changed","message":%s,"previous_message":%s,"channel":"C1","hidden":true,"ts":"1700000005.000200","event_ts":"1700000005.000200","channel_type":"channel"}`,
			inner(text, `,"edited":{"user":"U1","ts":"1700000005.000000"},"source_team":"T1","user_team":"T1"`), inner("where is the plan?", "")),
	} {
		events[name] = []byte(envelope(event))
	}
	return events
}

// BenchmarkEvent decodes an event from its body to what is stored.
func BenchmarkEvent(b *testing.B) {
	events := benchEvents()
	for _, name := range []string{"message", "app_mention", "edit"} {
		b.Run("event="+name, func(b *testing.B) {
			body := events[name]
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				env, err := ParseEnvelope(body)
				if err != nil {
					b.Fatal(err)
				}
				event, err := Decode(env, me)
				if m, ok := event.(MessageEvent); !ok || !m.Mention {
					b.Fatalf("%+v, %v", event, err)
				}
			}
		})
	}
}

// BenchmarkVerify checks signatures, up to the largest body that the door reads.
func BenchmarkVerify(b *testing.B) {
	const secret = "8f742231b10e8888abcd99yyyzzz85a5"
	now := time.Unix(1_700_000_000, 0)
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			body := bytes.Repeat([]byte("x"), size)
			header := sign(secret, now, string(body))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := Verify(header, body, secret, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
