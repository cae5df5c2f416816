package charset

import (
	"strings"
	"testing"
)

// Short texts are read right in the encodings that people use.
func TestShortTexts(t *testing.T) {
	t.Parallel()
	right, all := 0, 0
	for _, s := range samples {
		for _, name := range s.encodings {
			for _, want := range s.texts {
				body, err := encodings[name].NewEncoder().Bytes([]byte(want))
				if err != nil {
					continue // the encoding has not all of its characters
				}
				all++
				got, ok := Read(body, "", false)
				if !ok || got.Text != want {
					t.Errorf("%s in %s: %q is read as %s: %q", s.language, name, want, got.Guess, got.Text)
					continue
				}
				right++
				if proved := name == "ISO-2022-JP"; proved != (got.Guess == "") {
					t.Errorf("%s in %s: %q is the guess %q", s.language, name, want, got.Guess)
				}
			}
		}
	}
	t.Logf("%d of %d are right", right, all)
}

// What the bytes prove and what is declared count before a guess.
func TestProvedAndDeclared(t *testing.T) {
	t.Parallel()
	latin := func(s string) string {
		body, err := encodings["Windows-1252"].NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	ascii := strings.Repeat("plain ", 1000)
	cases := map[string]struct {
		body, declared string
		cut            bool
		want, guess    string
	}{
		"UTF-8 after much ASCII":            {ascii + "Käse", "", false, ascii + "Käse", ""},
		"UTF-8 that is declared as Latin-1": {"Käse", "iso-8859-1", false, "Käse", ""},
		"UTF-8 that calls itself Latin-1":   {"<meta charset=iso-8859-1>Käse", "", false, "<meta charset=iso-8859-1>Käse", ""},
		"UTF-8 that calls itself UTF-16":    {`<?xml version="1.0" encoding="utf-16"?><a>ä</a>`, "", false, `<?xml version="1.0" encoding="utf-16"?><a>ä</a>`, ""},
		"UTF-8, cut in a character":         {"Käse 日"[:len("Käse 日")-1], "", true, "Käse ", ""},
		"UTF-8, cut in the first one":       {"\xe6\x97", "", true, "", ""},
		"UTF-8 with a mark":                 {"\xef\xbb\xbfKäse", "iso-8859-1", false, "Käse", ""},
		"UTF-8 with a broken character":     {"Käse für Bären\xff, große Brötchen", "", false, "Käse für Bären\uFFFD, große Brötchen", "UTF-8"},
		"UTF-8 of another script":           {"नमस्ते สวัสดี مرحبا 😀", "windows-1252", false, "नमस्ते สวัสดี مرحبا 😀", ""},
		"UTF-16 with a mark":                {"\xff\xfeK\x00\xe4\x00", "", false, "Kä", ""},
		"UTF-16 with a mark, cut":           {"\xff\xfeK\x00\xe4", "", true, "K", ""},
		"UTF-16, declared":                  {"\x65\xe5\x67\x2c", "utf-16be", false, "日本", ""},
		"UTF-32 with a mark":                {"\xff\xfe\x00\x00K\x00\x00\x00\xe4\x00\x00\x00", "", false, "Kä", ""},
		"a mark before what is declared":    {"\xfe\xff\x00K", "shift_jis", false, "K", ""},
		"declared Latin-2":                  {"\xe6", "iso-8859-2", false, "ć", ""},
		"declared in a meta, late":          {ascii + "<meta http-equiv=Content-Type content='text/html; charset=windows-1250'>\xe6", "", false, ascii + "<meta http-equiv=Content-Type content='text/html; charset=windows-1250'>ć", ""},
		"declared in XML":                   {"<?xml version='1.0' encoding='iso-8859-2'?><a>\xe6</a>", "", false, "<?xml version='1.0' encoding='iso-8859-2'?><a>ć</a>", ""},
		"declared where nobody knows it":    {"ok", "klingon", false, "ok", ""},
		"declared UTF-8, and Latin-1":       {latin("Käse für Bären"), "utf-8", false, "Käse für Bären", "Windows-1252"},
		"declared Latin-1, and Shift_JIS":   {"\x8f\xa4\x95i\x96\xbc,\x90\x94\x97\xca\n", "iso-8859-1", false, "商品名,数量\n", "Shift_JIS"},
		"an apostrophe and nothing else":    {latin("I’m, it’s, d’une"), "", false, "I’m, it’s, d’une", "Windows-1252"},
		"two accents in a word":             {latin("Sénégal"), "", false, "Sénégal", "Windows-1252"},
		"Latin-1 after much ASCII":          {ascii + latin("Käse"), "", false, ascii + "Käse", "Windows-1252"},
		"Shift_JIS, cut in a character":     {"\x8f\xa4\x95i\x96\xbc\x82", "shift_jis", true, "商品名", ""},
		"colours of a terminal":             {"\x1b[31mred\x1b[0m", "", false, "\x1b[31mred\x1b[0m", ""},
	}
	for name, c := range cases {
		got, ok := Read([]byte(c.body), c.declared, c.cut)
		if !ok || got.Text != c.want || got.Guess != c.guess {
			t.Errorf("%s: %q by the guess %q, %v; want %q by %q", name, got.Text, got.Guess, ok, c.want, c.guess)
		}
	}
}

// What is no text is told from one, whatever it could be read as.
func TestNoText(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4096)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	for name, body := range map[string]string{
		"noise":                      string(noise),
		"noise without zeros":        strings.ReplaceAll(string(noise), "\x00", "\x01"),
		"noise with a mark":          "\xff\xfe" + string(noise),
		"numbers of two bytes":       "\x01\x00\x02\x00\x03\x00\x04\x00",
		"a text with zeros":          "text\x00\x00\x00text",
		"a program":                  "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00",
		"Office's old files":         "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 16),
		"a sound of sixteen bits":    "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00",
		"control characters, mostly": "\x01\x02\x03\x04a",
	} {
		if got, ok := Read([]byte(body), "", false); ok {
			t.Errorf("%s is the text %.40q", name, got.Text)
		}
	}
}
