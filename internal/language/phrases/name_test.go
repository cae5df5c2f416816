package phrases

import "testing"

func TestNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		names, called, not []string
	}{
		{
			[]string{"myao"},
			[]string{"myao, which of tabs or spaces?", "Thanks MYAO!", "ｍｙａｏどう？", "myaoさんは知ってる？", "ねえmyao", "@myao look", "is that myao's?", "myao-san",
				"(myao)", "myaos, I mean myao", "*myao*: look", "x\nmyao"},
			[]string{"", "myaos", "xmyao", "myao2", "my_myao", "myaò", "see <https://myao.example.com|myao>", "<@U1|myao> look", ":myao: hm", "run `myao --help`",
				"```\nmyao: error\n```", "&gt; myao, look\nhe said"},
		},
		{
			[]string{"Ada  Lovelace"},
			[]string{"ask ada lovelace", "Ada\nLovelace?"},
			[]string{"ada", "ada lovelaces", "adalovelace"},
		},
		{
			[]string{"みゃお"},
			[]string{"みゃお、どう？", "みゃおはどう思う", "ねえみゃお", "みゃおbot", "それはみゃおに聞こう"},
			[]string{"みやお", "ミャオ", "myao"},
		},
		{
			[]string{"ミャオ"},
			[]string{"ミャオ、どう？", "ミャオさん", "ﾐｬｵは？", "やあミャオ"},
			[]string{"ミャオン", "コミャオ", "ミャオミャオ", "ミャオー", "みゃお"},
		},
		{
			[]string{"太郎"},
			[]string{"太郎、どう？", "太郎君は？", "太郎様", "太郎先生", "太郎さん"},
			[]string{"桃太郎", "太郎丸", "太郎君丸"},
		},
		{[]string{"мяо"}, []string{"Мяо, где?"}, []string{"мяом"}},
		{[]string{"myao", "みゃお"}, []string{"みゃおは？", "myao?"}, []string{"みゃ"}},
		{[]string{"", " "}, nil, []string{"", " ", "a b"}},
		{nil, nil, []string{"myao"}},
	} {
		for _, text := range test.called {
			if !Names(text, test.names...) {
				t.Errorf("%q does not call %q", text, test.names)
			}
		}
		for _, text := range test.not {
			if Names(text, test.names...) {
				t.Errorf("%q calls %q", text, test.names)
			}
		}
	}
}
