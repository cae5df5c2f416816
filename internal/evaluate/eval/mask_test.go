package eval

import (
	"math/rand/v2"
	"strings"
	"testing"

	"myao/internal/store"
)

// newMasker knows some people. Pseudonyms are the animals in order of the alphabet.
func newMasker() *masker {
	users := []store.User{
		{ID: "UBOT0", Name: "Myao"}, {ID: "U1ALICE", Name: "Alice Carter"}, {ID: "U2", Name: "田中太郎"}, {ID: "U3", Name: "Will"}, {ID: "U4", Name: "佐藤 花子 (開発)"},
		{ID: "U5", Name: "May Long"}, {ID: "U6", Name: "deployer", Bot: true}, {ID: "U7", Name: "ゆき"}, {ID: "U8", Name: "otter"}, {ID: "U9", Name: "bob"},
	}
	names := newKnownNames(users, "UBOT0", []store.Channel{{ID: "C1", Name: "general"}, {ID: "C2", Name: "hr-layoffs"}})
	return &masker{
		pseudonyms: &pseudonyms{words: animals, known: map[string]pseudonym{}, count: map[kind]int{}}, bot: "UBOT0", names: names,
		apps: map[string]bool{"U6": true}, channels: map[string]string{"general": "C1", "hr-layoffs": "C2"}, here: map[string]bool{"U1ALICE": true},
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, masked, shape string }{
		{"", "", ""},
		{"Can anybody help?", "Can anybody help?", "text?"},
		{"<@UBOT0> hi <@U2>, <@U1ALICE|alice> and <@U6>", "<@UBOT> hi <@U1>, <@U2> and <@A1>", "<@UBOT> text <@U1> <@U2> text <@A1>"},
		{"Alice Carter, ALICE's or bob's? alicia", "Alpaca, Alpaca's or Badger's? alicia", "text? text text text text text text text text"},
		{"may I ask May? it takes long, Will will", "may I ask Alpaca? it takes long, Badger Badger", "text? text text text text text text text text"},
		{"myao, deployer said otter", "myao, Alpaca-bot said Badger", ""},
		{"田中さん、佐藤さんと田中太郎は？", "Alpacaさん、BadgerさんとAlpacaは？", "text?"},
		{"皆さん、鈴木さんとリンダくん、担当者さん", "皆さん、AlpacaさんとBadgerくん、担当者さん", ""},
		{"ゆきに聞いて。行きます、ゆきます", "Alpacaに聞いて。行きます、Alpacaます", ""},
		{"開発の人はいますか", "開発の人はいますか", "text?"},
		{"@bob @stranger @here a@b", "@Alpaca @Badger @here a@b", ""},
		{"<#C1|general> #general #secret-plan hr-layoffs, in general #3", "<#C1|channel-1> #channel-1 #channel-2 channel-3, in general #N", ""},
		{"<!here> <!subteam^S12|@ops> <!date^1700000000^{date}|14 March>", "<!here> <!subteam^S1|@group-1> NN March", ""},
		{"see <https://wiki.acme.example/x?y=1|the wiki of bob>, <http://acme.com|acme.com>", "see <https://example.com|the wiki of Alpaca>, <https://example.com>", ""},
		{"have you seen https://acme.com/a/b?c=d?", "have you seen https://example.com?", ""},
		{"https://acme.com/aを見ましたか？ acme.co.jpは？ www.acme.com/x", "https://example.comを見ましたか？ example.comは？ example.com", ""},
		{"<mailto:bob@acme.com|bob@acme.com> or al.ice+x@acme.co.jp.", "<mailto:someone@example.com> or someone@example.com.", ""},
		{"<tel:+4915112345678|0151 12345678>, +49 (151) 123-45", "<tel:+NNNNNNNNNNNNN|NNNN NNNNNNNN>, +NN (NNN) NNN-NN", ""},
		{"at 10:30 on 2026-03-01, v1.2.3, １０時半", "at NN:NN on NNNN-NN-NN, vN.N.N, NN時半", ""},
		{"+1", "+1", "text"},
		{"+1 from me :+1: call +1 555 0100", "+1 from me :+1: call +N NNN NNNN", ""},
		{"user U0123ABCD9 in commit 3f2a9c1d5e7b8a9c0d1e, U1ALICE", "user NNNNNNNNNN in commit [secret], UNALICE", ""},
		{"token xoxb-1234567890-abcdefghij, key AKIAIOSFODNN7EXAMPLE", "token [secret] key [secret]", ""},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----\nwho?", "[secret]\nwho?", ""},
		{"postgres://me:hunter22@db/x ok", "[secret] ok", ""},
		{"<not markup> &lt;tag&gt; <|> <@lower>", "<not markup> &lt;tag&gt; <|> <@Alpaca>", ""},
		{strings.Repeat("long ", 10) + "<@U2>\n" + strings.Repeat("長い文章", 40) + "？", "", "text text text text text text text text <@U1> " + strings.TrimSpace(strings.Repeat("text ", 40)) + "?"},
		{"<@U2> ", "<@U1> ", "<@U1>"},
	} {
		m := newMasker()
		if got := m.text(test.text); test.masked != "" && got != test.masked {
			t.Errorf("%q:\ngot  %q\nwant %q", test.text, got, test.masked)
		}
		m = newMasker()
		m.noText = true
		if got := m.text(test.text); test.shape != "" && got != test.shape {
			t.Errorf("%q without text:\ngot  %q\nwant %q", test.text, got, test.shape)
		}
	}
}

func TestMaskEmoji(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"eyes": "eyes", "+1::skin-tone-2": "+1", "対応中": "対応中", "bob_dances": "Alpaca_dances", "4711": "NNNN", "white_check_mark": "white_check_mark"} {
		if got := newMasker().emoji(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Nobody's name is drawn, not even after the last word, and everybody keeps theirs.
func TestPseudonyms(t *testing.T) {
	t.Parallel()
	taken := newMasker().names.has
	p, q := newPseudonyms(rand.New(rand.NewPCG(1, 2)), taken), newPseudonyms(rand.New(rand.NewPCG(3, 4)), taken)
	same, seen := 0, map[string]bool{}
	for i := range 3 * len(animals) {
		key := strings.Repeat("x", i+1)
		name := p.of(aPerson, key).name
		if seen[name] || taken(name) || p.of(aPerson, key).name != name {
			t.Errorf("%d: %s", i, name)
		}
		if q.of(aPerson, key).name == name {
			same++
		}
		seen[name] = true
	}
	if same > len(animals)/2 {
		t.Errorf("%d names are the same in another export", same)
	}
}
