package terms

import (
	"slices"
	"strings"
	"testing"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"lower case and stems":             {"Deploys: deployed the DEPLOYMENT", "deploy"},
		"compatibility forms":              {"Ｋｕｂｅｒｎｅｔｅｓ ﬁle ﾃﾞﾌﾟﾛｲ", "kubernet file デプ プロ ロイ イ"},
		"accents":                          {"Café naïve Ökonomie", "cafe naiv okonomi"},
		"other scripts with spaces":        {"Привет, мир! Καλημέρα", "привет мир καλημέρα"},
		"marks of other scripts":           {"नमस्ते दुनिया", "नमस्ते दुनिया"},
		"Japanese":                         {"本番環境が落ちた", "本番 番環 環境 境が が落 落ち ちた"},
		"Japanese endings":                 {"ました", ""},
		"the last character alone":         {"黒猫", "黒猫 猫"},
		"a character alone":                {"猫 は", "猫"},
		"scripts in turns":                 {"DBのバックアップ", "db のバ バッ ック クア アッ ップ プ"},
		"Korean":                           {"배포를", "배포 포를 를"},
		"Thai":                             {"แมว", "แม มว ว"},
		"a number with dots":               {"upgrade to v1.2.3. 10:30", "upgrad v1.2.3 10 30"},
		"numbers and months":               {"10月", "10 月"},
		"words of a name":                  {"MAX_RETRY_COUNT foo-bar", "max retri count foo bar"},
		"apostrophes":                      {"bob's don’t 'quoted'", "bob quot"},
		"mentions":                         {"<@U123> <@U1|bob> <#C1|general> <#C1> <!here> <!subteam^S1|@ops>", "general op"},
		"a link's label and host":          {"see <https://wiki.example.com/runbook?id=7|the runbook>", "see runbook wiki exampl com"},
		"a link without a label":           {"<https://status.example.com/x>", "status exampl com"},
		"an address":                       {"<mailto:bob@example.com|bob@example.com>", "bob exampl com"},
		"brackets that are no markup":      {"a &lt;b&gt; x&amp;y <", ""},
		"emoji":                            {":tada: :thumbs_up:", "tada thumb up"},
		"code":                             {"`kubectl get pods`", "kubectl get pod"},
		"words of every message":           {"What is the plan?", "plan"},
		"a long word":                      {strings.Repeat("a1", 40), strings.Repeat("a1", 20)},
		"nothing":                          {"", ""},
		"what is no text":                  {"\x00\xff …", ""},
		"the quotes of the query language": {"it''s \"x' | y & !zz:*", "zz"},
	} {
		got, _ := Index(test.text)
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q has the terms %q, want %q", name, test.text, got, test.want)
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []Term
	}{
		"words":               {"deploying again", []Term{{Text: "deploy"}, {Text: "again"}}},
		"pairs only":          {"本番環境", []Term{{Text: "本番"}, {Text: "番環"}, {Text: "環境"}}},
		"one character":       {"猫", []Term{{Text: "猫", Prefix: true}}},
		"one of the endings":  {"は", nil},
		"a word twice":        {"deploy Deploys", []Term{{Text: "deploy"}}},
		"only endings":        {"ました", nil},
		"characters by words": {"猫 dog", []Term{{Text: "猫", Prefix: true}, {Text: "dog"}}},
	} {
		if got := Query(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q asks for %v, want %v", name, test.text, got, test.want)
		}
	}
}

// Wherever one character stands, a query of it alone finds it.
func TestOneCharacterIsFoundEverywhere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"猫", "黒猫", "猫が好き", "黒猫が", "うちの猫。", "猫2匹", "cat猫cat"} {
		indexed, _ := Index(text)
		asked := Query("猫")[0]
		if !slices.ContainsFunc(indexed, func(term string) bool { return strings.HasPrefix(term, asked.Text) }) {
			t.Errorf("%q is not found by one character: its terms are %q", text, indexed)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := rune(0x4e00); r < 0x4e00+20_000; r++ {
		all.WriteRune(r)
	}
	distinct, length := Index(all.String())
	if len(distinct) != maxIndexed || length != 20_000 {
		t.Errorf("%d terms of %d", len(distinct), length)
	}
	if asked := Query(all.String()); len(asked) != maxAsked {
		t.Errorf("asks for %d terms", len(asked))
	}
	if _, length := Index(strings.Repeat("猫 ", 100_000)); length > maxText {
		t.Errorf("%d terms were read", length)
	}
}

// A term is stored and asked for between spaces and quotes.
func FuzzTermsAreOneWord(f *testing.F) {
	for _, seed := range []string{"it's <https://x|y>", "が\u3099", "İstanbul ß ǅ", "a\u00a0b\u2028c", "'’'", "1.2.", "ﷺ", "x\u0301\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		indexed, length := Index(text)
		if length < len(indexed) {
			t.Errorf("%d distinct terms of %d", len(indexed), length)
		}
		for _, term := range indexed {
			if term == "" || strings.ContainsAny(term, "'\"#@\\ \x00") || len(strings.Fields(term)) != 1 || strings.ToValidUTF8(term, "") != term || len([]rune(term)) > maxLength {
				t.Errorf("%q has the term %q", text, term)
			}
		}
	})
}
