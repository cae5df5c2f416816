package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

var me = Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", Name: "myao"}

func envelope(event string) string {
	return `{"token":"x","team_id":"T1","api_app_id":"A1","type":"event_callback","event_id":"Ev1","event_time":1700000001,
		"authorizations":[{"team_id":"T1","user_id":"UBOT","is_bot":true}],"event":` + event + `}`
}

func decode(t *testing.T, body string) (Event, error) {
	t.Helper()
	env, err := ParseEnvelope([]byte(body))
	if err != nil {
		t.Fatalf("envelope: %v", err)
	}
	return Decode(env, me)
}

func messageIn(t *testing.T, body string) (MessageEvent, error) {
	t.Helper()
	event, err := decode(t, body)
	m, _ := event.(MessageEvent)
	return m, err
}

func TestParseEnvelope(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, ` `, `null`, `[]`, `"x"`, `7`, `{`, `{"a":1}x`, "\xff", `[{"type":"event_callback"}]`} {
		if _, err := ParseEnvelope([]byte(bad)); !errors.Is(err, ErrNotObject) {
			t.Errorf("%q: got %v, want ErrNotObject", bad, err)
		}
	}
	got, err := ParseEnvelope([]byte(`{"token":"t","challenge":"3eZb","type":"url_verification"}`))
	if err != nil || got.Type != "url_verification" || got.Challenge != "3eZb" {
		t.Errorf("url_verification: got %+v, %v", got, err)
	}
	got, err = ParseEnvelope([]byte(` {"type":7,"challenge":[],"team_id":{},"event_id":1,"event_time":"soon","event":null}`))
	if err != nil || got.Type != "" || got.EventID != "" || !got.at.IsZero() {
		t.Errorf("odd types: got %+v, %v", got, err)
	}
	got, _ = ParseEnvelope([]byte(envelope(`{"type":"message","subtype":"channel_join"}`)))
	if got.EventType != "message" || got.event.text("subtype") != "channel_join" || got.EventID != "Ev1" || !slices.Contains(got.origin.teams, "T1") ||
		!got.at.Equal(time.Unix(1700000001, 0)) {
		t.Errorf("callback: got %+v", got)
	}
}

func TestDecodeMessage(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000001, 0).UTC()
	message := func(change func(*chat.Message)) chat.Message {
		m := chat.Message{Team: "T1", Channel: "C1", TS: "1700000000.000100", UserID: "U1", Text: "hello"}
		if change != nil {
			change(&m)
		}
		return m
	}
	said := func(text, more string) string {
		return strings.TrimSuffix(`{"type":"message","channel":"C1","user":"U1","ts":"1700000000.000100","text":"`+text+`",`+more, ",") + "}"
	}
	person := func(text string) MessageEvent {
		return MessageEvent{Kind: Posted, Message: message(func(m *chat.Message) { m.Text = text })}
	}
	bot := func(user, text string) MessageEvent {
		return MessageEvent{Kind: Posted, Message: message(func(m *chat.Message) { m.UserID, m.BotID, m.Text = user, "B9", text })}
	}
	direct := func(e MessageEvent) MessageEvent { e.ChannelType, e.Message.Channel = "im", "D1"; return e }
	mention := func(e MessageEvent) MessageEvent { e.Mention = true; return e }
	inThread := func(e MessageEvent) MessageEvent { e.Message.ThreadTS = "1699999999.000100"; return e }
	own := func(e MessageEvent) MessageEvent {
		e.Message.UserID, e.Message.BotID, e.Message.Own = "UBOT", "BBOT", true
		return e
	}
	withFiles := func(e MessageEvent, files ...chat.File) MessageEvent { e.Message.Files = files; return e }
	edited := func(revision, previous string, e MessageEvent) MessageEvent {
		e.Kind, e.HasPrevious, e.Previous, e.Message.Revision = Edited, true, previous, revision
		return e
	}
	cat := chat.File{ID: "F1", Name: "cat.png", MIME: "image/png"}
	for _, tc := range []struct {
		name  string
		event string
		want  MessageEvent
	}{
		{"plain", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","event_ts":"1700000000.000100","channel_type":"channel","team":"T1","blocks":[{"type":"rich_text"}]}`,
			MessageEvent{Kind: Posted, ChannelType: "channel", Message: message(nil)}},
		{"private channel", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","channel_type":"group"}`,
			MessageEvent{Kind: Posted, ChannelType: "group", Message: message(nil)}},
		{"reply", said("hello", `"thread_ts":"1699999999.000100","parent_user_id":"U2"`), inThread(person("hello"))},
		{"parent of a thread", said("hello", `"thread_ts":"1700000000.000100"`), person("hello")},
		{"mention, as message", said("<@UBOT> hi", ""), mention(person("<@UBOT> hi"))},
		{"mention, as app_mention", `{"type":"app_mention","channel":"C1","user":"U1","text":"<@UBOT> hi","ts":"1700000000.000100","event_ts":"1700000000.000100"}`,
			MessageEvent{Kind: Posted, Mention: true, Partial: true, Message: message(func(m *chat.Message) { m.Text = "<@UBOT> hi" })}},
		{"app_mention with files", `{"type":"app_mention","channel":"C1","user":"U1","text":"<@UBOT>","ts":"1700000000.000100","files":[{"id":"F1","name":"cat.png","mimetype":"image/png"}]}`,
			withFiles(mention(person("<@UBOT>")), cat)},
		{"app_mention of an edit", `{"type":"app_mention","channel":"C1","user":"U1","text":"<@UBOT> hi","ts":"1700000000.000100","edited":{"user":"U1","ts":"1700000005.000000"}}`,
			MessageEvent{Kind: Edited, Mention: true, Partial: true, Message: message(func(m *chat.Message) { m.Text, m.Revision = "<@UBOT> hi", "1700000005.000000" })}},
		{"mention with a label", said("hey <@UBOT|myao>", ""), mention(person("hey <@UBOT|myao>"))},
		{"mention of somebody else", said("<@UBOT2>", ""), person("<@UBOT2>")},
		{"file_share", `{"type":"message","subtype":"file_share","channel":"C1","user":"U1","text":"","upload":false,"ts":"1700000000.000100","files":[{"id":"F1","name":"cat.png","mimetype":"image/png","size":12},{"id":"F2","mode":"tombstone"},null,{"id":"F3","file_access":"check_file_info"}]}`,
			withFiles(person(""), cat, chat.File{ID: "F3", Name: "F3"})},
		{"thread_broadcast", `{"type":"message","subtype":"thread_broadcast","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","thread_ts":"1699999999.000100","root":{"user":"UBOT","text":"<@UBOT>","ts":"1699999999.000100"}}`,
			inThread(person("hello"))},
		{"me_message", said("hello", `"subtype":"me_message"`), person("hello")},
		{"bot_message", `{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"B9","username":"deploy\nbot","icons":{"emoji":":rocket:"},"text":"hello","ts":"1700000000.000100"}`,
			MessageEvent{Kind: Posted, Message: message(func(m *chat.Message) { m.UserID, m.BotID, m.Name = "", "B9", "deploy bot" })}},
		{"bot_message with a user only", `{"type":"message","subtype":"bot_message","channel":"C1","user":"U1","username":"x","text":"hello","ts":"1700000000.000100"}`,
			MessageEvent{Kind: Posted, Message: message(func(m *chat.Message) { m.BotID, m.Name = "U1", "x" })}},
		{"bot with a user", `{"type":"message","channel":"C1","user":"U9","bot_id":"B9","app_id":"A9","bot_profile":{"name":"deploy"},"text":"hello","ts":"1700000000.000100"}`,
			bot("U9", "hello")},
		{"own by user", `{"type":"message","channel":"C1","user":"UBOT","text":"<@UBOT>","ts":"1700000000.000100"}`,
			mention(own(person("<@UBOT>")))},
		{"own by bot", `{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"BBOT","text":"hello","ts":"1700000000.000100"}`,
			own(person("hello"))},
		{"slackbot", `{"type":"message","channel":"C1","user":"USLACKBOT","text":"hello","ts":"1700000000.000100"}`,
			MessageEvent{Kind: Posted, Message: message(func(m *chat.Message) { m.UserID, m.BotID = "USLACKBOT", "USLACKBOT" })}},
		{"Slack itself", `{"type":"message","user":"USLACK","channel":"D1","channel_type":"im","text":"<@U1> archived the channel <#C1>","ts":"1700000000.000100","event_ts":"1700000000.000100"}`,
			MessageEvent{Kind: Posted, ChannelType: "im", Message: message(func(m *chat.Message) {
				m.Channel, m.UserID, m.BotID, m.Text = "D1", "USLACK", "USLACK", "<@U1> archived the channel <#C1>"
			})}},
		{"direct message", `{"type":"message","channel":"D1","user":"U1","text":"hello","ts":"1700000000.000100","channel_type":"im"}`,
			direct(person("hello"))},
		{"direct message, without its type", `{"type":"message","channel":"D1","user":"U1","text":"hello","ts":"1700000000.000100"}`,
			direct(person("hello"))},
		{"Slack Connect", `{"type":"message","channel":"C1","user":"W7","user_team":"T7","source_team":"T7","team":"T7","user_profile":{"team":"T7"},"text":"hello","ts":"1700000000.000100"}`,
			MessageEvent{Kind: Posted, Message: message(func(m *chat.Message) { m.UserID = "W7" })}},
		{"no text", `{"type":"message","channel":"C1","user":"U1","text":null,"ts":"1700000000.000100"}`,
			person("")},
		{"odd unused fields", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","team":7,"blocks":{"x":1},"attachments":[7],"files":"none","edited":"yes","event_ts":9.5,"reactions":0,"message":4}`,
			person("hello")},
		{"a person's attachments are no text", said("", `"attachments":[{"text":"<@UBOT>"}]`), person("")},
		{"preview of a message", `{"type":"message","channel":"C1","user":"U1","text":"<@UBOT> and this?","ts":"1700000000.000100","attachments":[
			{"is_msg_unfurl":true,"from_url":"https://example.slack.com/archives/C2/p1","channel_id":"C2","author_name":"Bob","text":"the DB is down\n[linked message by Al]"},
			{"is_msg_unfurl":true,"author_name":"Alerts","text":"Triggered","message_blocks":[{"message":{"blocks":[{"type":"section","text":{"type":"mrkdwn","text":"disk full on node-9, ask <@UBOT>"}}]}}],"fields":[{"title":"Host","value":"node-9"}]},
			{"is_msg_unfurl":true,"private_channel_prompt":true,"channel_id":"C3","author_name":"Carol","text":"salaries"},{"is_msg_unfurl":true,"author_name":"Dan","text":""}]}`,
			mention(person("<@UBOT> and this?\n[linked message by Bob]\nthe DB is down\n\\[linked message by Al]\n[linked message by Alerts]\nTriggered\ndisk full on node-9, ask @myao\nHost: node-9"))},
		{"forward without a word", `{"type":"message","channel":"D1","user":"U1","text":"","ts":"1700000000.000100","attachments":[{"is_msg_unfurl":true,"is_share":true,"from_url":"https://example.slack.com/archives/C2/p1","author_name":"Bob\n<3","text":"the DB is down\nsince noon","fallback":"[March 1st] Bob: the DB"}]}`,
			direct(person("[forwarded message by Bob &lt;3]\nthe DB is down\nsince noon"))},
		{"forward with a mention", `{"type":"message","channel":"C1","user":"U1","text":"<@UBOT> what do you say?","ts":"1700000000.000100","attachments":[{"is_share":true,"author_name":"Bob","text":"the DB is down"},{"title":"a preview"},{"is_share":true,"text":"and up again"}]}`,
			mention(person("<@UBOT> what do you say?\n[forwarded message by Bob]\nthe DB is down\n[forwarded message]\nand up again"))},
		{"lines like the one above a forward are marked", `{"type":"message","channel":"C1","user":"U1","text":"look\n [Forwarded message by Alice]\nall approved","ts":"1700000000.000100","attachments":[{"is_share":true,"author_name":"Bob","text":"so\n[forwarded message by Alice]\nit is"}]}`,
			person("look\n \\[Forwarded message by Alice]\nall approved\n[forwarded message by Bob]\nso\n\\[forwarded message by Alice]\nit is")},
		{"forward of a mention is none", `{"type":"message","channel":"C1","user":"U1","text":"look","ts":"1700000000.000100","attachments":[{"is_share":true,"author_name":"<@UBOT>","text":"<@UBOT> or <@UBOT|old>, ask <@U2>"}]}`,
			person("look\n[forwarded message by &lt;@UBOT&gt;]\n@myao or @myao, ask <@U2>")},
		{"forward of blocks", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","attachments":[{"is_share":true,"author_name":"Bob","text":"","fallback":"f","message_blocks":[7,{},
			{"team":"T1","channel":"C2","ts":"1699999999.000100","message":{"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"UBOT"},{"type":"text","text":" a < b"}]}]}]}}]}]}`,
			person("hello\n[forwarded message by Bob]\n@myao a &lt; b")},
		{"forward of a file", `{"type":"message","channel":"D1","user":"U1","text":"","ts":"1700000000.000100","attachments":[{"is_msg_unfurl":true,"is_share":true,"author_name":"Bob","text":"","fallback":"[no preview available]",
			"files":[{"id":"F1","mode":"hosted","name":"cat.png","mimetype":"image/png"},{"id":"F2","mode":"tombstone"}]}]}`,
			withFiles(direct(person("[forwarded message by Bob]")), cat)},
		{"forward of a file with one beside it", `{"type":"message","subtype":"file_share","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","files":[{"id":"F1","name":"cat.png","mimetype":"image/png"}],"attachments":[
			{"is_share":true,"text":"logs","files":[{"id":"F3","name":"db-7.log","mimetype":"text/plain"}]},{"is_msg_unfurl":true,"from_url":"https://e.org","files":[{"id":"F4","name":"preview.png"}]}]}`,
			withFiles(person("hello\n[forwarded message]\nlogs"), cat, chat.File{ID: "F3", Name: "db-7.log", MIME: "text/plain"})},
		{"forward of something else", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","attachments":[{"is_share":true,"fallback":"[March 1st] Bob: cat.png"},{"is_share":true,"fallback":"[no preview available]"}]}`,
			person("hello\n[forwarded message]\n[March 1st] Bob: cat.png\n[forwarded message]")},
		{"table that somebody pastes", `{"type":"message","channel":"C1","user":"U1","text":"<@UBOT> which is down?","ts":"1700000000.000100","attachments":[{"id":1,"fallback":"[no preview available]","blocks":[
			{"type":"section","text":{"type":"mrkdwn","text":"no table"}},
			{"type":"table","rows":[[{"type":"raw_text","text":""},{"type":"raw_text","text":"a < b"},{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"two\nlines"}]}]}],
			[{"type":"raw_text","text":"db-7 <@UBOT>"},{"type":"raw_number","value":1200,"text":"1,200"},{"type":"raw_number","value":3.5}],
			[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"UBOT"},{"type":"text","text":" "},{"type":"link","url":"https://e.org","text":"e"}]}]},null,{"type":"raw_text","text":"down"}],
			[{"type":"raw_text","text":" "},7],7,[]]},{"type":"table","rows":7}]}]}`,
			mention(person("<@UBOT> which is down?\n| a &lt; b | two lines\ndb-7 &lt;@UBOT&gt; | 1,200 | 3.5\n@myao <https://e.org|e> |  | down"))},
		{"table and nothing else", `{"type":"message","channel":"D1","user":"U1","text":"","ts":"1700000000.000100","attachments":[{"blocks":[
			{"type":"data_table","caption":"Load & co","rows":[[{"type":"raw_text","text":"host"}],[{"type":"raw_text","text":"db-7"}]]}]}]}`,
			direct(person("Load &amp; co\nhost\ndb-7"))},
		{"table beside the words", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"hello"}]}]},
			{"type":"table","rows":[[{"type":"raw_text","text":"a"},{"type":"raw_text","text":"b"}]]}]}`,
			person("hello\na | b")},
		{"table of a preview is no text", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","attachments":[
			{"from_url":"https://e.org","blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"a"}]]}]},{"is_app_unfurl":true,"blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"b"}]]}]}]}`,
			person("hello")},
		{"bot with a text and a table", `{"type":"message","channel":"C1","bot_id":"B9","text":"Load","ts":"1700000000.000100","blocks":[{"type":"header","text":{"type":"plain_text","text":"Load of today"}},
			{"type":"table","rows":[[{"type":"raw_text","text":"db-7"},{"type":"raw_number","text":"42"}]]}]}`,
			bot("", "Load of today\ndb-7 | 42")},
		{"own table, which the text has", `{"type":"message","channel":"C1","user":"UBOT","bot_id":"BBOT","text":"| a | b |","ts":"1700000000.000100","blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"a"},{"type":"raw_text","text":"b"}]]}]}`,
			own(person("| a | b |"))},
		{"NUL in the text", `{"type":"message","channel":"C1","user":"U1","text":"he\u0000llo","ts":"1700000000.000100"}`,
			person("hello")},
		{"bot with attachments only", `{"type":"message","channel":"C1","bot_id":"B9","text":"","ts":"1700000000.000100","attachments":[{"fallback":"f","pretext":"Build","title":"failed","text":"on main"},{"fallback":"only this"},7]}`,
			bot("", "Build\nfailed\non main\nonly this")},
		{"bot with fields", `{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"B9","text":"","ts":"1700000000.000100","attachments":[
			{"title":"Alert","fields":[{"title":"Summary","value":"disk full on <https://e.org|db-7>","short":true},{"title":"","value":"since noon"},{"title":"Who?","value":" "},{"title":7},8],"fallback":"[FIRING] disk full on db-7"},
			{"fields":[{"title":"Load","value":"42"}],"fallback":"f"},{"fallback":"[no preview available]"},{"fields":[],"fallback":"only this"}]}`,
			bot("", "Alert\nSummary: disk full on <https://e.org|db-7>\nsince noon\nWho?\nLoad: 42\nonly this")},
		{"bot with dates and groups", `{"type":"message","channel":"C1","bot_id":"B9","ts":"1700000000.000100","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[
			{"type":"broadcast","range":"here"},{"type":"text","text":" "},{"type":"usergroup","usergroup_id":"S1"},{"type":"text","text":": until "},
			{"type":"date","timestamp":1720710212,"format":"{date_num} | {time}","fallback":"July\n<11"},{"type":"text","text":", "},
			{"type":"date","timestamp":1720710212,"format":"{date}"},{"type":"text","text":", "},{"type":"date","timestamp":"soon","format":"{date}","fallback":"soon"}]}]}]}`,
			bot("", "<!here> <!subteam^S1>: until <!date^1720710212^{date_num} {time}|July &lt;11>, <!date^1720710212^{date}|>, soon")},
		{"bot with images", `{"type":"message","channel":"C1","bot_id":"B9","ts":"1700000000.000100","blocks":[
			{"type":"image","image_url":"https://e.org/1.png","alt_text":"CPU <90%","title":{"type":"plain_text","text":"db-7 & co"}},
			{"type":"context","elements":[{"type":"image","image_url":"https://e.org/2.png","alt_text":"red"},{"type":"mrkdwn","text":"*down*"}]}],
			"attachments":[{"fallback":"[no preview available]","blocks":[{"type":"image","image_url":"https://e.org/3.png","alt_text":"memory"}]}]}`,
			bot("", "db-7 &amp; co\nCPU &lt;90%\nred\n*down*\nmemory")},
		{"bot with a table attached", `{"type":"message","channel":"C1","bot_id":"B9","text":"Load","ts":"1700000000.000100","attachments":[{"fallback":"[no preview available]","blocks":[
			{"type":"table","rows":[[{"type":"raw_text","text":"db-7"},{"type":"raw_number","text":"42"}]]}]}]}`,
			bot("", "Load\ndb-7 | 42")},
		{"bot with text and attachments", `{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"B9","text":"Alert\nCPU","ts":"1700000000.000100","attachments":[
			{"fallback":"Alert","title":"CPU","text":"the DB is down"},{"fallback":"Alert"},{"from_url":"https://e.org","title":"E"},{"original_url":"https://e.org","title":"E"},{"is_msg_unfurl":true,"text":"x"},
			{"is_share":true,"author_name":"Bob","text":"Alert"},{"text":"<@UBOT>"}]}`,
			mention(bot("", "Alert\nCPU\nthe DB is down\n<@UBOT>\n[linked message]\nx\n[forwarded message by Bob]\nAlert"))},
		{"app with a short text and blocks", `{"type":"message","channel":"C1","bot_id":"B9","text":"Triggered","ts":"1700000000.000100","blocks":[
			{"type":"header","text":{"type":"plain_text","text":"Latency <high>"}},{"type":"section","text":{"type":"mrkdwn","text":"p99 4210 ms on pay-7"},"fields":[{"type":"mrkdwn","text":"*Host*\npay-7"},{"type":"plain_text","text":"*prod*"}],
			"accessory":{"type":"button","text":{"type":"plain_text","text":"Runbook"},"url":"https://e.org/run?a=1"}},
			{"type":"context","elements":[{"type":"image","image_url":"https://e.org/1.png","alt_text":"red"},{"type":"mrkdwn","text":"ask <@UBOT>"}]},
			{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Acknowledge"}},{"type":"static_select","placeholder":{"type":"plain_text","text":"Severity"},"options":[{"text":{"type":"plain_text","text":"hidden"},"value":"1"}]}]}]}`,
			mention(bot("", "Triggered\nLatency &lt;high&gt;\np99 4210 ms on pay-7\n*Host*\npay-7\n*prod*\n<https://e.org/run?a=1|Runbook>\nred\nask <@UBOT>\nAcknowledge\nSeverity"))},
		{"app whose text Slack has made of its blocks", `{"type":"message","channel":"C1","bot_id":"B9","text":"Disk full :fire: db-7 since 10:00 • one • two","ts":"1700000000.000100","blocks":[
			{"type":"header","text":{"type":"plain_text","text":"Disk full 🔥"}},{"type":"section","text":{"type":"mrkdwn","text":"*db-7* since \u00602023\u0060"}}]}`,
			bot("", "Disk full :fire: db-7 since 10:00 • one • two\nDisk full 🔥\n*db-7* since `2023`")},
		{"app with a text that its blocks have", `{"type":"message","channel":"C1","bot_id":"B9","text":"*Disk full* on <https://e.org|db-7>\n• one\n• two","ts":"1700000000.000100","blocks":[
			{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"Disk full","style":{"bold":true}},{"type":"text","text":" on "},{"type":"link","url":"https://e.org","text":"db-7"}]},
			{"type":"rich_text_list","style":"bullet","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]}]}]}`,
			bot("", "Disk full on <https://e.org|db-7>\n• one\n• two")},
		{"app with a text that has its blocks", `{"type":"message","channel":"C1","bot_id":"B9","text":"Deploy failed: 3 of 40 hosts, see below","ts":"1700000000.000100","blocks":[
			{"type":"header","text":{"type":"plain_text","text":"Deploy failed"}},{"type":"section","text":{"type":"mrkdwn","text":"*3 of 40 hosts*"}},{"type":"context","elements":[{"type":"mrkdwn","text":"by alice"}]}]}`,
			bot("", "Deploy failed: 3 of 40 hosts, see below\nby alice")},
		{"app with newer blocks", `{"type":"message","channel":"C1","bot_id":"B9","text":"Report","ts":"1700000000.000100","blocks":[
			{"type":"video","title":{"type":"plain_text","text":"Demo"},"alt_text":"Demo","author_name":"Al & Bo","provider_name":"Tube","description":{"type":"plain_text","text":"two minutes"}},
			{"type":"card","icon":{"type":"image","alt_text":"i"},"title":{"type":"mrkdwn","text":"*Card*"},"subtitle":{"type":"mrkdwn","text":"small"},"body":{"type":"mrkdwn","text":"body"},"actions":[{"type":"button","text":{"type":"plain_text","text":"Open"},"url":"https://e.org"}]},
			{"type":"container","title":{"type":"plain_text","text":"no"},"rich_text_title":{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"Box"}]}]},"child_blocks":[{"type":"section","text":{"type":"mrkdwn","text":"inside"}}]},
			{"type":"plan","title":"Plan","tasks":[{"type":"task_card","title":"Step 1","details":{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"look"}]}]},"sources":[{"type":"url","url":"https://e.org/s","text":"source"}]}]},
			{"type":"data_visualization","title":"Load","chart":{"type":"bar","series":[{"name":"Mon","data":[{"label":"db-7","value":42}]}]}},
			{"type":"rich_text","elements":[{"type":"rich_text_list","style":"ordered","indent":1,"offset":2,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"third"}]}]}]}]}`,
			bot("", "Report\nDemo\nAl &amp; Bo\nTube\ntwo minutes\n*Card*\nsmall\nbody\n<https://e.org|Open>\nBox\ninside\nPlan\nStep 1\nlook\n<https://e.org/s|source>\nLoad\nMon\ndb-7: 42\n3. third")},
		{"app with an attachment of all parts", `{"type":"message","channel":"C1","bot_id":"B9","text":"","ts":"1700000000.000100","attachments":[{"fallback":"f","pretext":"New","author_name":"alice","title":"#7 Fix","title_link":"https://e.org/7","text":"<@UBOT> look","fields":[{"title":"State","value":"open"}],
			"actions":[{"type":"button","text":"View","url":"https://e.org/v"}],"footer":"repo"},{"fallback":"f","text":"same","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"*same*, and more"}}]}]}`,
			mention(bot("", "New\nalice\n<https://e.org/7|#7 Fix>\n<@UBOT> look\nState: open\n<https://e.org/v|View>\nrepo\n*same*, and more"))},
		{"person whose mention is in blocks alone", `{"type":"message","channel":"C1","user":"U1","text":"whose cat?","ts":"1700000000.000100","blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[
			{"type":"user","user_id":"UBOT"},{"type":"text","text":" whose cat?"}]}]}]}`,
			mention(person("<@UBOT> whose cat?"))},
		{"person whose text is written otherwise in blocks", `{"type":"message","channel":"C1","user":"U1","text":"see \u0060\u0060\u0060a  b\u0060\u0060\u0060 <!date^1720710212^{date}|July 11> &amp; <@U2|bob>","ts":"1700000000.000100","blocks":[{"type":"rich_text","elements":[
			{"type":"rich_text_preformatted","elements":[{"type":"text","text":"a   b"}]},{"type":"rich_text_section","elements":[{"type":"user","user_id":"U2"},{"type":"link","url":"https://e.org"}]}]}]}`,
			person("see ```a  b``` <!date^1720710212^{date}|July 11> &amp; <@U2|bob>")},
		{"bot with blocks only", `{"type":"message","channel":"C1","bot_id":"B9","ts":"1700000000.000100","blocks":[
			{"type":"header","text":{"type":"plain_text","text":"A & B"}},{"type":"divider"},
			{"type":"section","text":{"type":"mrkdwn","text":"*x*"},"fields":[{"type":"mrkdwn","text":"y"}],"accessory":{"type":"button","text":{"type":"plain_text","text":"no"}}},
			{"type":"markdown","text":"**m**"},{"type":"never_seen","elements":[{"type":"mrkdwn","text":"z"}]},
			{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"hi "},{"type":"user","user_id":"U2"},{"type":"emoji","name":"tada"}]},
			{"type":"rich_text_list","elements":[{"type":"rich_text_section","elements":[{"type":"link","url":"https://e.org","text":"e"}]},{"type":"rich_text_section","elements":[{"type":"channel","channel_id":"C2"}]}]}]}]}`,
			bot("", "A &amp; B\n*x*\ny\nno\n**m**\nz\nhi <@U2>:tada:\n<https://e.org|e>\n<#C2>")},
		{"bot whose text Slack has filled in", `{"bot_id":"B9","type":"message","channel":"C1","text":"This content can't be displayed.","user":"U9","ts":"1700000000.000100","team":"T1","blocks":[
			{"type":"section","block_id":"b1","text":{"type":"mrkdwn","text":"*db-7* is down","verbatim":false}},{"type":"divider","block_id":"b2"},
			{"type":"context","block_id":"b3","elements":[{"type":"mrkdwn","text":"since noon"}]}]}`,
			bot("U9", "*db-7* is down\nsince noon")},
		{"bot that has yet to say something", `{"bot_id":"B9","type":"message","channel":"C1","text":"This message contains interactive elements.","user":"U9","ts":"1700000000.000100","streaming_state":"in_progress"}`,
			bot("U9", "")},
		{"person whose text Slack has filled in", `{"type":"message","channel":"C1","user":"U1","text":"This message contains interactive elements.","ts":"1700000000.000100","blocks":[
			{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"UBOT"},{"type":"text","text":" whose cat?"}]}]},{"type":"image","image_url":"https://e.org/1.gif","alt_text":"a cat"}]}`,
			mention(person("<@UBOT> whose cat?\na cat"))},
		{"person who writes as Slack does", `{"type":"message","channel":"C1","user":"U1","text":"This content can't be displayed.","ts":"1700000000.000100"}`,
			person("This content can't be displayed.")},
		{"forward of what Slack has filled in", `{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","attachments":[
			{"is_share":true,"author_name":"deploy","text":"This content can't be displayed.","message_blocks":[{"message":{"blocks":[{"type":"section","text":{"type":"mrkdwn","text":"failed"}}]}}]},
			{"is_share":true,"text":"","fallback":"This message contains interactive elements."}]}`,
			person("hello\n[forwarded message by deploy]\nfailed\n[forwarded message]")},

		{"edit", `{"type":"message","subtype":"message_changed","hidden":true,"channel":"C1","ts":"1700000009.000200","event_ts":"1700000009.000200","channel_type":"channel",
			"message":{"type":"message","user":"U1","text":"hello","ts":"1700000000.000100","edited":{"user":"U1","ts":"1700000009.000000"}},
			"previous_message":{"type":"message","user":"U1","text":"<@UBOT> helo","ts":"1700000000.000100"}}`,
			MessageEvent{Kind: Edited, ChannelType: "channel", HasPrevious: true, Previous: "<@UBOT> helo", PreviousMention: true,
				Message: message(func(m *chat.Message) { m.Revision = "1700000009.000000" })}},
		{"edit that adds a mention", `{"type":"message","subtype":"message_changed","channel":"C1","ts":"1700000009.000200",
			"message":{"user":"U1","text":"<@UBOT>","ts":"1700000000.000100","thread_ts":"1699999999.000100","edited":{"ts":"1700000009.000000"}},
			"previous_message":{"user":"U1","text":"","ts":"1700000000.000100"}}`,
			edited("1700000009.000000", "", mention(inThread(person("<@UBOT>"))))},
		{"second edit", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"hello","ts":"1700000000.000100","edited":{"ts":"1700000009.000000"}},
			"previous_message":{"user":"U1","text":"hello","ts":"1700000000.000100","edited":{"ts":"1700000005.000000"}}}`,
			edited("1700000009.000000", "hello", person("hello"))},
		{"edit without edited", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200","ts":"1700000009.000100",
			"message":{"user":"U1","text":"hello","ts":"1700000000.000100"},"previous_message":{"user":"U1","text":"hell","ts":"1700000000.000100"}}`,
			edited("1700000009.000200", "hell", person("hello"))},
		{"a change of an older edit", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"hello","ts":"1700000000.000100","edited":{"ts":"1700000005.000000"}},
			"previous_message":{"user":"U1","text":"hell","ts":"1700000000.000100","edited":{"ts":"1700000005.000000"}}}`,
			edited("1700000009.000200", "hell", person("hello"))},
		{"edit, without the previous message", `{"type":"message","subtype":"message_changed","channel":"C1","ts":"1700000009.000100","message":{"user":"U1","text":"hello","ts":"1700000000.000100"}}`,
			MessageEvent{Kind: Edited, Message: message(func(m *chat.Message) { m.Revision = "1700000009.000100" })}},
		{"edit, author only in the previous", `{"type":"message","subtype":"message_changed","channel":"C1","ts":"1700000009.000100",
			"message":{"text":"hello","ts":"1700000000.000100"},"previous_message":{"user":"U1","text":"x","ts":"1700000000.000100","thread_ts":"1699999999.000100"}}`,
			edited("1700000009.000100", "x", inThread(person("hello")))},
		{"a file taken away", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"hello","ts":"1700000000.000100","files":[{"id":"F1","mode":"tombstone"}]},
			"previous_message":{"user":"U1","text":"hello","ts":"1700000000.000100","files":[{"id":"F1","name":"cat.png"}]}}`,
			edited("1700000009.000200", "hello", person("hello"))},
		{"own edit", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"subtype":"bot_message","bot_id":"BBOT","text":"hello","ts":"1700000000.000100","edited":{"user":"BBOT","ts":"1700000009.000000"}},
			"previous_message":{"bot_id":"BBOT","text":"x","ts":"1700000000.000100"}}`,
			edited("1700000009.000000", "x", own(person("hello")))},
		{"edit of a table alone", `{"type":"message","subtype":"message_changed","channel":"C1","ts":"1700000009.000200",
			"message":{"user":"U1","text":"hello","ts":"1700000000.000100","edited":{"ts":"1700000009.000000"},"attachments":[{"blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"up"}]]}]}]},
			"previous_message":{"user":"U1","text":"hello","ts":"1700000000.000100","attachments":[{"blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"down"}]]}]}]}}`,
			edited("1700000009.000000", "hello\ndown", person("hello\nup"))},
		{"edit of what is said to a forward", `{"type":"message","subtype":"message_changed","channel":"C1","ts":"1700000009.000200",
			"message":{"user":"U1","text":"<@UBOT>","ts":"1700000000.000100","edited":{"ts":"1700000009.000000"},"attachments":[{"is_share":true,"text":"ask <@UBOT>"}]},
			"previous_message":{"user":"U1","text":"x","ts":"1700000000.000100","attachments":[{"is_share":true,"text":"ask <@UBOT>"}]}}`,
			edited("1700000009.000000", "x\n[forwarded message]\nask @myao", mention(person("<@UBOT>\n[forwarded message]\nask @myao")))},

		{"preview that Slack adds", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"<@UBOT> this?","ts":"1700000000.000100","attachments":[{"is_msg_unfurl":true,"text":"disk full"}]},
			"previous_message":{"user":"U1","text":"<@UBOT> this?","ts":"1700000000.000100"}}`,
			func() MessageEvent {
				e := edited("1700000009.000200", "<@UBOT> this?", mention(person("<@UBOT> this?\n[linked message]\ndisk full")))
				e.Previewed, e.PreviousMention = true, true
				return e
			}()},

		{"transcript that Slack adds", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"subtype":"file_share","user":"U1","text":"","ts":"1700000000.000100","files":[{"id":"F1","name":"a.m4a","mimetype":"audio/mp4","transcription":{"status":"complete","preview":{"content":"hello","has_more":false}}}]},
			"previous_message":{"subtype":"file_share","user":"U1","text":"","ts":"1700000000.000100","files":[{"id":"F1","name":"a.m4a","mimetype":"audio/mp4","transcription":{"status":"processing"}}]}}`,
			func() MessageEvent {
				e := edited("1700000009.000200", "", person(""))
				e.Message.Files = []chat.File{{ID: "F1", Name: "a.m4a", MIME: "audio/mp4", Transcript: chat.Transcript{Text: "hello"}}}
				e.Previewed = true
				return e
			}()},

		{"deletion", `{"type":"message","subtype":"message_deleted","hidden":true,"channel":"C1","ts":"1700000009.000200","deleted_ts":"1700000000.000100","channel_type":"channel",
			"previous_message":{"user":"U1","text":"<@UBOT> x","ts":"1700000000.000100","thread_ts":"1699999999.000100","edited":{"ts":"1700000005.000000"}}}`,
			MessageEvent{Kind: Deleted, ChannelType: "channel", HasPrevious: true, Previous: "<@UBOT> x", PreviousMention: true,
				Message: message(func(m *chat.Message) {
					m.Text, m.Deleted, m.ThreadTS, m.Revision = "", true, "1699999999.000100", "1700000005.000000"
				})}},
		{"deletion, without the previous message", `{"type":"message","subtype":"message_deleted","channel":"C1","ts":"1700000009.000200","deleted_ts":"1700000000.000100"}`,
			MessageEvent{Kind: Deleted, Message: chat.Message{Team: "T1", Channel: "C1", TS: "1700000000.000100", Deleted: true}}},
		{"deletion, ts only in the previous", `{"type":"message","subtype":"message_deleted","channel":"C1","previous_message":{"user":"U1","text":"x","ts":"1700000000.000100"}}`,
			MessageEvent{Kind: Deleted, HasPrevious: true, Previous: "x", Message: message(func(m *chat.Message) { m.Text, m.Deleted = "", true })}},
		{"tombstone", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"subtype":"tombstone","user":"USLACKBOT","text":"This message was deleted.","ts":"1700000000.000100","thread_ts":"1700000000.000100"},
			"previous_message":{"user":"U1","text":"x","ts":"1700000000.000100","thread_ts":"1700000000.000100"}}`,
			MessageEvent{Kind: Deleted, HasPrevious: true, Previous: "x", Message: message(func(m *chat.Message) { m.Text, m.Deleted = "", true })}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := messageIn(t, envelope(tc.event))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.ID, tc.want.At = "Ev1", at
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// The text from blocks and attachments is bounded like a text.
func TestAttachedTextIsBounded(t *testing.T) {
	t.Parallel()
	cell := strings.Repeat("é", 1000)
	table := `[{"type":"table","rows":[` + strings.Repeat(`[{"type":"raw_text","text":"`+cell+`"},{"type":"raw_text","text":"`+cell+`"}],`, 100) + `[]]}]`
	for name, fields := range map[string]string{
		"a person's table": `"user":"U1","text":"hello","attachments":[{"blocks":` + table + `}]`,
		"a bot's table":    `"bot_id":"B9","text":"hello","attachments":[{"blocks":` + table + `}]`,
		"a bot's blocks":   `"bot_id":"B9","blocks":` + table,
		"a bot's fields": `"bot_id":"B9","text":"hello","attachments":[{"fields":[{"title":"` + cell + ` | ` + cell + `"},` +
			strings.Repeat(`{"value":"`+strings.Repeat("é", 3000)+`"},`, 20) + `{}]}]`,
	} {
		e, err := messageIn(t, envelope(`{"type":"message","channel":"C1","ts":"1700000000.000100",`+fields+`}`))
		text := strings.TrimPrefix(e.Message.Text, "hello\n")
		if want := cell + " | " + cell + "\n" + cell; err != nil || len([]rune(text)) != maxAttached+1 || !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "é…") {
			t.Errorf("%s: %d characters, %v", name, len([]rune(text)), err)
		}
	}
}

// A part says the same as a text in whatever markup both are.
func TestSaid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, part string
		want       bool
	}{
		{"one\n\ntwo two\nthree", "two two\nthree", true},
		{"two", "two two", false},
		{"three", "thr", false},
		{"three", "thr…", true},
		{"*Disk full* on `db-7`:", "Disk full on db-7", true},
		{"a &lt; b", "a < b", true},
		{"&gt; quoted\n&gt; twice", "quoted\ntwice", true},
		{"1. one\n2. two", "1. one\n2. two", true},
		{":tada: deployed", "deployed 🎉", false},
		{"deployed", ":tada: deployed", true},
		{"<https://e.org|db-7> is down", "db-7 is down", true},
		{"db-7 is down", "<https://e.org|db-7> is down", false},
		{"<https://e.org/?a=1&amp;b=2|db-7>", "<https://e.org/?a=1&b=2|db-7>", true},
		{"hi", "<@UBOT> hi", false},
		{"<@UBOT|myao> hi", "<@UBOT> hi", true},
		{"balance 5", "balance -5", false},
		{"## Load\n- high", "Load\nhigh", true},
		{"障害発生 本番", "【障害発生】", false},
	} {
		if got := saidIn(tc.text).holds(tc.part); got != tc.want {
			t.Errorf("%q holds %q: %v", tc.text, tc.part, got)
		}
	}
}

// An app may attach thousands of parts to a long text. The text must not be copied for each, or the door
// would be too slow for Slack. The test is not parallel, because it measures memory.
func TestManyPartsOfALongText(t *testing.T) {
	var parts strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&parts, `{"title":"%d"},`, i)
	}
	text := strings.Repeat(`ab\n`, 13_000)
	body := envelope(`{"type":"message","channel":"C1","bot_id":"B9","ts":"1700000000.000100","text":"` + text + `","attachments":[{"fields":[` + parts.String() + `{}]}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e, err := messageIn(t, body)
	runtime.ReadMemStats(&after)
	if err != nil || !strings.Contains(e.Message.Text, "ab\n\n0\n1\n2\n") {
		t.Errorf("%d characters, %v", len(e.Message.Text), err)
	}
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(100*len(body)); took > most {
		t.Errorf("%d bytes for an event of %d, want at most %d", took, len(body), most)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("C", 65)
	for _, tc := range []struct {
		name, event string
		want        error
		reason      string
	}{
		{"channel_join", `{"type":"message","subtype":"channel_join","channel":"C1","user":"U1","text":"<@U1> has joined","ts":"1700000000.000100"}`, ErrIgnored, "channel_join"},
		{"never seen subtype", `{"type":"message","subtype":"hologram","channel":"C1","user":"U1","ts":"1700000000.000100"}`, ErrIgnored, "hologram"},
		{"never seen event", `{"type":"hologram_projected"}`, ErrIgnored, "hologram_projected"},
		{"no type", `{}`, ErrIgnored, "(none)"},
		{"type unfit for a log", `{"type":"a\nb"}`, ErrIgnored, "(malformed)"},
		{"message_replied", `{"type":"message","subtype":"message_replied","hidden":true,"channel":"C1","ts":"1700000000.000100","message":{"user":"U1","ts":"1700000000.000100"}}`, ErrIgnored, "message_replied"},
		{"message_replied without its subtype", `{"type":"message","hidden":true,"channel":"C1","ts":"1700000000.000100","message":{"user":"U1","ts":"1700000000.000100"}}`, ErrIgnored, "message_replied"},
		{"hidden", `{"type":"message","hidden":true,"channel":"C1","user":"U1","text":"x","ts":"1700000000.000100"}`, ErrIgnored, "hidden"},
		{"unfurl", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"https://e.org","ts":"1700000000.000100","attachments":[{"title":"E"}]},
			"previous_message":{"user":"U1","text":"https://e.org","ts":"1700000000.000100"}}`, ErrIgnored, "no change of text"},
		{"unfurl in an edited message", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"x","ts":"1700000000.000100","edited":{"ts":"1700000005.000000"},"attachments":[{"title":"E"}]},
			"previous_message":{"user":"U1","text":"x","ts":"1700000000.000100","edited":{"ts":"1700000005.000000"}}}`, ErrIgnored, "no change of text"},
		{"unfurl beside a forward", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"https://e.org","ts":"1700000000.000100","attachments":[{"is_share":true,"text":"x"},{"from_url":"https://e.org","title":"E"}]},
			"previous_message":{"user":"U1","text":"https://e.org","ts":"1700000000.000100","attachments":[{"is_share":true,"text":"x"}]}}`, ErrIgnored, "no change of text"},
		{"unfurl in a bot's message", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"bot_id":"B9","text":"https://e.org","ts":"1700000000.000100","attachments":[{"from_url":"https://e.org","title":"E"}]},
			"previous_message":{"bot_id":"B9","text":"https://e.org","ts":"1700000000.000100"}}`, ErrIgnored, "no change of text"},
		{"reply count", `{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200",
			"message":{"user":"U1","text":"x","ts":"1700000000.000100","thread_ts":"1700000000.000100","reply_count":2,"files":[{"id":"F1","name":"a"}]},
			"previous_message":{"user":"U1","text":"x","ts":"1700000000.000100","thread_ts":"1700000000.000100","reply_count":1,"files":[{"id":"F1","name":"a"}]}}`, ErrIgnored, "no change of text"},
		{"change of a join", `{"type":"message","subtype":"message_changed","channel":"C1","message":{"subtype":"channel_join","user":"U1","ts":"1700000000.000100"}}`, ErrIgnored, "channel_join"},
		{"deletion of a join", `{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1700000000.000100","previous_message":{"subtype":"channel_join","user":"U1","ts":"1700000000.000100"}}`, ErrIgnored, "channel_join"},

		{"null event", `null`, ErrUnusable, "no object"},
		{"list", `[]`, ErrUnusable, "no object"},
		{"no channel", `{"type":"message","user":"U1","text":"x","ts":"1700000000.000100"}`, ErrUnusable, "channel"},
		{"channel is an object", `{"type":"message","channel":{"id":"C1"},"user":"U1","ts":"1700000000.000100"}`, ErrUnusable, "channel"},
		{"channel with a slash", `{"type":"message","channel":"C/1","user":"U1","ts":"1700000000.000100"}`, ErrUnusable, "channel"},
		{"channel with a space", `{"type":"message","channel":"C 1","user":"U1","ts":"1700000000.000100"}`, ErrUnusable, "channel"},
		{"channel too long", `{"type":"message","channel":"` + long + `","user":"U1","ts":"1700000000.000100"}`, ErrUnusable, "channel"},
		{"no ts", `{"type":"message","channel":"C1","user":"U1","text":"x"}`, ErrUnusable, "ts"},
		{"ts is a number", `{"type":"message","channel":"C1","user":"U1","ts":1700000000.0001}`, ErrUnusable, "ts"},
		{"ts is a word", `{"type":"message","channel":"C1","user":"U1","ts":"now"}`, ErrUnusable, "ts"},
		{"thread_ts malformed", `{"type":"message","channel":"C1","user":"U1","ts":"1700000000.000100","thread_ts":"a/b"}`, ErrUnusable, "thread_ts"},
		{"no author", `{"type":"message","channel":"C1","text":"x","ts":"1700000000.000100"}`, ErrUnusable, "user"},
		{"empty author", `{"type":"message","channel":"C1","user":"","bot_id":null,"text":"x","ts":"1700000000.000100"}`, ErrUnusable, "user"},
		{"user is a number", `{"type":"message","channel":"C1","user":7,"text":"x","ts":"1700000000.000100"}`, ErrUnusable, "user"},
		{"user with a slash", `{"type":"message","channel":"C1","user":"U/1","text":"x","ts":"1700000000.000100"}`, ErrUnusable, "user"},
		{"bot with a line break", `{"type":"message","channel":"C1","bot_id":"B\n1","text":"x","ts":"1700000000.000100"}`, ErrUnusable, "bot_id"},
		{"change without a message", `{"type":"message","subtype":"message_changed","channel":"C1"}`, ErrUnusable, "without a message"},
		{"change without a time", `{"type":"message","subtype":"message_changed","channel":"C1","message":{"user":"U1","text":"x","ts":"1700000000.000100"}}`, ErrUnusable, "time of the change"},
		{"deletion of nothing", `{"type":"message","subtype":"message_deleted","channel":"C1"}`, ErrUnusable, "ts"},
		{"deletion of a word", `{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"x"}`, ErrUnusable, "ts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode(t, envelope(tc.event))
			if !errors.Is(err, tc.want) || !LeftOut(err) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("reason %q does not name %q", err, tc.reason)
			}
			if got != nil {
				t.Errorf("an event beside the error: %+v", got)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message","channel":"C1","user":"U1","text":"hello","ts":"1700000000.000100","thread_ts":"1699999999.000100"}`,
		`{"type":"app_mention","channel":"C1","user":"U1","text":"<@UBOT>","ts":"1700000000.000100","edited":{"ts":"1700000001.0"}}`,
		`{"type":"message","subtype":"message_changed","channel":"C1","event_ts":"1700000009.000200","message":{"bot_id":"B1","ts":"1700000000.000100","blocks":[{"elements":[{"type":"text","text":"x"}]}]},"previous_message":{"user":"U1"}}`,
		`{"type":"message","subtype":"message_deleted","channel":"D1","deleted_ts":"1700000000.000100","previous_message":{"user":"U1","files":[{"id":"F"}]}}`,
		`{"type":"message","subtype":"channel_convert_to_private","channel":"C1","channel_type":"group","user":"U1","ts":"1700000000.000100"}`,
		`{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"BBOT","ts":"1700000000.000100","attachments":[{"fallback":"x"}]}`,
		`{"type":"message","channel":"C1","user":"U1","text":"x","ts":"1700000000.000100","attachments":[{"is_share":true,"author_name":"Bob","text":"<@UBOT>"},{"is_share":true,"message_blocks":[{"message":{"blocks":[{"text":"y"}]}}]}]}`,
		`{"type":"message","channel":"C1","user":"U1","text":"x","ts":"1700000000.000100","attachments":[{"blocks":[{"type":"table","rows":[[{"type":"raw_text","text":"<@UBOT>"},{"type":"raw_number","value":1}],[]]}]}]}`,
		`{"type":"message","channel":"D1","channel_type":"im","user":"U1","text":"x","ts":"x"}`,
		`{"type":"reaction_added","user":"U1","reaction":"x","item":{"type":"message","channel":"C1","ts":"1700000000.000100"}}`,
		`{"type":"channel_id_changed","old_channel_id":"G1","new_channel_id":"C1"}`,
		`null`, `[]`, `{"type":7}`,
	} {
		f.Add([]byte(envelope(seed)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		env, err := ParseEnvelope(body)
		if err != nil {
			if !errors.Is(err, ErrNotObject) {
				t.Fatalf("unknown error %v", err)
			}
			return
		}
		event, err := Decode(env, me)
		if _, useless := Decode(env, Identity{}); useless != nil && err == nil {
			t.Errorf("of use to this bot, though to none: %v, %+v", useless, event)
		}
		if err != nil {
			if !LeftOut(err) {
				t.Fatalf("unknown error %v", err)
			}
			return
		}
		if closed, ok := event.(ChannelPrivate); ok {
			if !validID(closed.Channel) || !LeftOut(closed.Reason) || errors.Is(closed.Reason, ErrForeign) {
				t.Errorf("closed by %+v", closed)
			}
		}
		e, ok := event.(MessageEvent)
		if !ok {
			return
		}
		m := e.Message
		if m.Team != me.TeamID || !chat.ValidTS(m.TS) || !validID(m.Channel) || m.ThreadTS == m.TS ||
			m.ThreadTS != "" && !chat.ValidTS(m.ThreadTS) || m.Revision != "" && !chat.ValidTS(m.Revision) {
			t.Errorf("accepted %+v", m)
		}
		if e.Kind != Deleted && m.UserID == "" && m.BotID == "" {
			t.Errorf("no author: %+v", m)
		}
		if e.Kind == Edited && m.Revision == "" || (e.Kind == Deleted) != m.Deleted {
			t.Errorf("kind %s of %+v", e.Kind, m)
		}
		if strings.ContainsRune(m.Text+m.Name+e.Previous, 0) {
			t.Errorf("NUL kept in %q", m.Text)
		}
		place := m.Conversation()
		if parsed, err := chat.ParseConversation(place.ID()); err != nil || parsed != place {
			t.Errorf("conversation %s does not survive: %v", place.ID(), err)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}
