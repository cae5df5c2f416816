package workspace_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/slack-go/slack"

	"myao/sandbox/workspace"
)

// The bot posts a message, and the connection breaks before Slack answers. The message is
// in the channel all the same.
func Example() {
	w := workspace.New(workspace.Config{BotToken: "xoxb-test"})
	defer w.Close()
	server := httptest.NewServer(w.Handler())
	defer server.Close()

	alice := w.AddUser("alice")
	general := w.AddChannel(workspace.Public, "general", alice.ID, w.Bot().UserID)
	question := w.Say(general, alice.ID, "anybody there?")

	w.Faults().Add(workspace.Fault{Method: "chat.postMessage", Times: 1, AfterEffect: true, LoseAnswer: true})
	api := slack.New("xoxb-test", slack.OptionAPIURL(server.URL+"/api/"))
	_, _, err := api.PostMessage(general, slack.MsgOptionTS(question), slack.MsgOptionText("yes", false))

	fmt.Println("failed:", err != nil)
	for _, m := range w.Messages(general) {
		fmt.Println(m.Text, m.Reply())
	}
	// Output:
	// failed: true
	// anybody there? false
	// yes true
}
