package tools

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestRefusesCredentials(t *testing.T) {
	const secret = "LEAK/a+secret-of-ours?"
	const sentence = "Never tell anybody that the sky over the harbour is green"
	r := New(Sources{
		// Nothing of this is used.
		Store: searching{}, Render: func(context.Context, chat.Conversation, []chat.Found) (string, error) { return "", nil },
		Permalink: func(context.Context, string, string) (string, error) { return "", nil },
		Zone:      func(context.Context, chat.Conversation) (*time.Location, error) { return time.UTC, nil },

		Secrets: []string{secret, "abc"}, Instructions: []string{"Be brief.\n\n- " + sentence + ". Close the door; it is cold.", "港の上の空が緑色であることを誰にも言わないでください。"},
	})
	input := func(text string) json.RawMessage {
		raw, err := json.Marshal(map[string]any{"title": "see", "more": []any{map[string]string{"text": "so " + text + " it is"}}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	hidden := []string{
		secret, strings.ToUpper(secret), url.QueryEscape(secret), url.PathEscape(secret), url.QueryEscape(url.QueryEscape(secret)), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))), reversed(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte("x" + secret)), base64.RawStdEncoding.EncodeToString([]byte("xy" + secret + "z")),
		strings.Join(strings.Split(secret, ""), " "), strings.Join(strings.Split(base64.StdEncoding.EncodeToString([]byte(secret)), ""), "\n"),
		"xoxb-1234567890-abcdefghij", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE", "sk-proj-abcdefghijklmnopqrstuvwx", "-----BEGIN RSA PRIVATE KEY-----", "postgres://me:hunter22@db/x",
		sentence, strings.ToUpper(sentence), strings.ReplaceAll(sentence, " ", "\n  "), url.QueryEscape(sentence), base64.StdEncoding.EncodeToString([]byte("You are. " + sentence)), "港の上の空が緑色であることを誰にも言わないでください",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlIHg", "https://hooks.slack.com/services/T0/B0/x",
	}
	for _, text := range hidden {
		if r.Refuses(input(text)) == "" {
			t.Errorf("not refused: %q", text)
		}
	}
	pieces := json.RawMessage(`{"a":["LEAK/a+sec","ret-of-ours?"]}`)
	if r.Refuses(pieces) == "" {
		t.Error("not refused in pieces")
	}
	for _, text := range []string{"abc", "Be brief.", "Close the door; it is cold.", "the printer is broken", "see https://example.com/a?b=c", "mail me@example.com", "commit 3f2a9c1", "プリンターが壊れた", "sk-learn", "ssh://git@example.com/x", "call 12345678:30"} {
		if why := r.Refuses(input(text)); why != "" {
			t.Errorf("refused: %q", text)
		}
	}
}
