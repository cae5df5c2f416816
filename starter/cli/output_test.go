package cli

import (
	"strings"
	"testing"
)

// Each cell begins below its heading, whatever the names before it.
func TestTableWithWideNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := table(&b, [][]string{
		{"of all"},
		{"CHANNEL", "KIND", "MODE"},
		{"#general", "public", "judge"},
		{"#雑談", "private", "all"},
		{"#か\u3099くしゅう", "", "off"},
		{"#ﾃﾞｻﾞｲﾝ👀", "public", "off"},
	}); err != nil {
		t.Fatal(err)
	}
	want := "of all\n" +
		"CHANNEL      KIND     MODE\n" +
		"#general     public   judge\n" +
		"#雑談        private  all\n" +
		"#か\u3099くしゅう           off\n" +
		"#ﾃﾞｻﾞｲﾝ👀    public   off\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
