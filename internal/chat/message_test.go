package chat

import (
	"cmp"
	"strings"
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for ts, want := range map[string]time.Time{
		"1699999999.000100":    time.Unix(1699999999, 100_000).UTC(),
		"1699999999.999999":    time.Unix(1699999999, 999_999_000).UTC(),
		"1699999999.5":         time.Unix(1699999999, 500_000_000).UTC(),
		"1699999999.123456789": time.Unix(1699999999, 123_456_000).UTC(), // to the microsecond
		"0.000000":             time.Unix(0, 0).UTC(),
		"99999999999.000001":   time.Unix(99999999999, 1000).UTC(),
		"":                     {},
		".":                    {},
		"1699999999":           {},
		"1699999999.":          {},
		".000100":              {},
		"-1.000000":            {},
		"1.-00001":             {},
		"+1.000000":            {},
		"1.+00001":             {},
		"1.0.0":                {},
		" 1.0":                 {},
		"1.0\n":                {},
		"1e3.0":                {},
		"abc.def":              {},
		"１.０":                  {},
		"1.日本":                 {},
		"999999999999.0":       {},
		"1.0000000000":         {},
	} {
		if got := Time(ts); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("Time(%q) = %v, want %v", ts, got, want)
		}
		if got := ValidTS(ts); got == want.IsZero() {
			t.Errorf("ValidTS(%q) = %v", ts, got)
		}
	}
}

func TestCompareTS(t *testing.T) {
	t.Parallel()
	inOrder := []string{"", "abc.def", "999.000000", "1000.000000", "1000.0000001", "1000.0000002", "1000.000001", "1000.1", "10000.0"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got, want := CompareTS(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("CompareTS(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestTS(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("JST", 9*3600)
	for want, at := range map[string]time.Time{
		"1699999999.000100": time.Unix(1699999999, 100_999).In(tokyo), // nanoseconds are cut off
		"1700000000.000000": time.Unix(1700000000, 0),
		"0.000001":          time.Unix(0, 1000),
	} {
		if got := TS(at); got != want {
			t.Errorf("TS(%v) = %q, want %q", at, got, want)
		}
	}
	if got := Time(TS(time.Time{})); !got.IsZero() {
		t.Errorf("the zero time comes back as %v", got)
	}
}

func FuzzTime(f *testing.F) {
	for _, ts := range []string{"1699999999.000100", "", ".", "1.5", "-1.0", "1.-5", "00.00", "1.日", "99999999999.999999999", "1.0 "} {
		f.Add(ts, int64(0), int64(0))
	}
	f.Add("", int64(1699999999), int64(123456))
	f.Add("", int64(99_999_999_999), int64(999_999))
	f.Fuzz(func(t *testing.T, ts string, sec, us int64) {
		at := Time(ts)
		if ValidTS(ts) == at.IsZero() {
			t.Fatalf("ValidTS(%q) = %v, its time is %v", ts, ValidTS(ts), at)
		}
		if !at.IsZero() && !Time(TS(at)).Equal(at) {
			t.Fatalf("%q is %v, which is %q, which is %v", ts, at, TS(at), Time(TS(at)))
		}
		if sec < 0 || sec > 99_999_999_999 || us < 0 || us > 999_999 {
			return
		}
		at = time.Unix(sec, us*1000).UTC()
		if got := Time(TS(at)); !ValidTS(TS(at)) || !got.Equal(at) {
			t.Fatalf("%v is %q, which is %v", at, TS(at), got)
		}
	})
}

func TestMentions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, user string
		want       bool
	}{
		{"hello <@U1>", "U1", true},
		{"<@U1|myao> hello", "U1", true},
		{"<@U2> and <@U1>!", "U1", true},
		{"<@U12> hello", "U1", false},
		{"<@XU1>", "U1", false},
		{"@U1 hello", "U1", false},
		{"U1", "U1", false},
		{"&lt;@U1&gt;", "U1", false},
		{"<#U1>", "U1", false},
		{"<@>", "", false},
		{"<@|x>", "", false},
		{"", "U1", false},
	} {
		if got := Mentions(tt.text, tt.user); got != tt.want {
			t.Errorf("Mentions(%q, %q) = %v", tt.text, tt.user, got)
		}
	}
}

func TestUnmention(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello <@U1>, <@U1|old>":       "hello @myao, @myao",
		"<@U12> <@U2> U1":              "<@U12> <@U2> U1",
		"<@U1| cut off":                "@myao cut off",
		"<@U1|<@U1>> and <<@U1>> <!x>": "@myao@myao> and <@myao> <!x>",
		"":                             "",
	} {
		if got := Unmention(text, "U1", "myao"); got != want || Mentions(got, "U1") {
			t.Errorf("Unmention(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLeadingMention(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<@U1> could you look?":       "U1",
		" \n<@W2ABC|alice> could you": "W2ABC",
		"<@U1><@U2>":                  "U1",
		"　<@U1>さん、お願いします":             "U1",
		"\u00a0<@U1>\u3000すみません":      "U1",
		"すみません、<@U1>さん":               "",
		"could you look, <@U1>?":      "",
		"<#C1> is full":               "",
		"<!here> hello":               "",
		"<@u1>":                       "",
		"<@>":                         "",
		"<@U1":                        "",
		"":                            "",
	} {
		if got := LeadingMention(text); got != want {
			t.Errorf("Opening(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFileLabel(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]File{
		"[image: cat.png]":           {Name: "cat.png", MIME: "image/png"},
		"[video: a.mp4]":             {Name: "a.mp4", MIME: "video/mp4"},
		"[audio: a.mp3]":             {Name: "a.mp3", MIME: "audio/mpeg"},
		"[file: a.pdf]":              {Name: "a.pdf", MIME: "application/pdf"},
		"[file: notes]":              {Name: "notes"},
		"[image: x]":                 {Name: "x", MIME: "image"},
		"[file: x ## Heading --- y]": {Name: "x\n## Heading\r\n---\x00\ty", MIME: "text/plain"},
	} {
		if got := f.Label(); got != want {
			t.Errorf("%+v: got %q, want %q", f, got, want)
		}
	}
	if got := (File{Name: strings.Repeat("a", 10_000)}).Label(); len(got) > 400 {
		t.Errorf("a long name makes a label of %d bytes", len(got))
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	if got := (Message{TS: "1699999999.000100"}).Time(); !got.Equal(time.Unix(1699999999, 100_000)) {
		t.Errorf("Time = %v", got)
	}
	for _, tt := range []struct {
		m    Message
		want bool
	}{
		{Message{UserID: "U1"}, false}, {Message{BotID: "B1"}, true}, {Message{UserID: "U1", BotID: "B1"}, true}, {Message{UserID: "U1", Own: true}, true},
	} {
		if got := tt.m.ByBot(); got != tt.want {
			t.Errorf("%+v: ByBot = %v", tt.m, got)
		}
	}
}
