package workspace

import "testing"

func TestTypedTextIsEncodedAsSlackDoes(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{})
	hanako, both := b.AddUser("花子").ID, b.AddUser("花子山").ID
	for typed, want := range map[string]string{
		"see https://a.example/x?b=1&c=2.":    "see <https://a.example/x?b=1&amp;c=2>.",
		"(https://a.example/)":                "(<https://a.example/>)",
		"<https://a.example/|click>":          "&lt;<https://a.example/>|click&gt;",
		"@MYAO, and @nobody":                  "<@U0BOT>, and @nobody",
		"@myaoさん、@花子さん":                       "<@U0BOT>さん、<@" + hanako + ">さん",
		"これ@myaoに、@花子山-":                      "これ<@U0BOT>に、<@" + both + ">-",
		"@myaoxさん @myaox":                     "@myaoxさん @myaox",
		"me@alice.example #general. #nothing": "me@alice.example <#" + b.general + "|general>. #nothing",
		"<@U0BOT>":                            "&lt;@U0BOT&gt;",
	} {
		if got := b.Encode(typed); got != want {
			t.Errorf("%s becomes %s, want %s", typed, got, want)
		}
	}
}
