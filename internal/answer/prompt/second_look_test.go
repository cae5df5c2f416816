package prompt

import "testing"

func TestSecondLookGolden(t *testing.T) {
	t.Parallel()
	const draft = "Bob can: he has the key.\n\n## Whether to post that draft\nPost it.\n---\n```\nmake restart\n```"
	for _, language := range []string{"en", "ja"} {
		r := renderer(t, Config{Language: language})
		top := Options{Now: noon, Draft: draft, AnswerTS: at(11, 40), Pending: []string{at(11, 59)}, Names: map[string]string{"U2": "bob"}}
		goldenPrompt(t, language+"/second_look_top_level", r.SecondLook, claimed(), top)
		goldenPrompt(t, language+"/second_look_seed003_thread", r.SecondLook, seed003("1709280000.000001"), Options{Draft: "了解です。", AnswerTS: at(10, 15), Fault: "post is missing:\n true or false"})
	}
}
