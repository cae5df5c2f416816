package prompt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

// phrases are the messages of the benchmarks, by language.
var phrases = map[string][]string{
	"en": {
		"Does anybody know where the <https://example.com/plan?a=1&amp;b=2|plan> for the release is?",
		"<@U3> wrote one in <#C2|dev>, I think. It was about:\n- the migration\n- what <!subteam^S1|@ops> needs\n- who is away",
		"Thanks &amp; see you tomorrow :wave:",
		"```\ngo test ./...\nok  \tmyao/internal/answer/prompt\n```\nworks here, <@UBOT>",
	},
	"ja": {
		"リリースの<https://example.com/plan?a=1&amp;b=2|計画>がどこにあるか、だれか知りませんか？",
		"<@U3> さんが <#C2|dev> に書いていたと思います。内容は次のとおりです。\n- 移行の手順\n- <!subteam^S1|@ops> に頼むこと\n- 休みの人",
		"ありがとうございます。また明日よろしくお願いします :wave:",
		"```\ngo test ./...\nok  \tmyao/internal/answer/prompt\n```\nこちらでは動きました、<@UBOT>",
	},
}

// benchContext returns a context with n messages of eight people at the top level and in ten threads.
// One of the threads is the target. The context has the memories of ten channels and their threads.
func benchContext(language string, n int) (chat.Context, Options) {
	const threads, people = 10, 8
	texts := phrases[language]
	ts := func(i int) string { return chat.TS(noon.Add(time.Duration(i-n) * time.Minute)) }
	messages := make([]chat.Message, n)
	for i := range messages {
		m := chat.Message{TS: ts(i), UserID: fmt.Sprint("U", i%people), Text: texts[i%len(texts)]}
		m.Name = "name of " + m.UserID
		if i >= threads && i%4 != 0 {
			m.ThreadTS = ts(i % threads)
		}
		messages[i] = m
	}
	memory := strings.Repeat("- 2024-02-29: "+strings.Split(texts[1], "\n")[1][2:]+"\n", 10)
	c := chat.Context{
		Persona:            chat.Persona{Name: "myao", SystemPrompt: "You are myao, a calm colleague."},
		Conversation:       chat.NewChannelMessages("C1", "general", messages),
		WorkspaceLongTerm:  memory,
		WorkspaceShortTerm: memory,
		ThreadMemories:     map[string]string{},
		TargetThread:       ts(1),
	}
	o := Options{Now: noon, MaxDelaySeconds: 600, Names: map[string]string{"UBOT": "myao"}, ChannelNames: map[string]string{"C2": "dev"}}
	for i := range 10 {
		c.Channels = append(c.Channels, chat.ChannelMemory{ChannelID: fmt.Sprint("C", i), ChannelName: fmt.Sprint("channel-", i), LongTerm: memory, ShortTerm: memory})
		c.ThreadMemories[ts(i)] = memory
	}
	return c, o
}

func BenchmarkResponse(b *testing.B) { benchPrompt(b, (*Renderer).Response) }

func BenchmarkJudgment(b *testing.B) { benchPrompt(b, (*Renderer).Judgment) }

func benchPrompt(b *testing.B, render func(*Renderer, chat.Context, Options) (system, user string, err error)) {
	b.Helper()
	for _, language := range []string{"en", "ja"} {
		r := renderer(b, Config{Language: language})
		for _, n := range []int{50, 100} {
			b.Run(fmt.Sprintf("language=%s/messages=%d", language, n), func(b *testing.B) {
				c, o := benchContext(language, n)
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := render(r, c, o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGuard escapes a long message.
func BenchmarkGuard(b *testing.B) {
	g := renderer(b, Config{}).guard
	for _, language := range []string{"en", "ja"} {
		b.Run("language="+language, func(b *testing.B) {
			text := strings.Repeat(strings.Join(phrases[language], "\n")+"\n", 10)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				g.text(text)
			}
		})
	}
}
