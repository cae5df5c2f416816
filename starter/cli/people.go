package cli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"time"

	"myao/internal/chat"
	"myao/internal/operate/timeline"
	"myao/internal/store"
)

// people maps user ids to names.
type people map[string]string

var mentioned = regexp.MustCompile(`<@([A-Z0-9]+)`)

// namesIn are the names of those who wrote, are mentioned or reacted.
func namesIn(ctx context.Context, db *store.Store, team string, messages []chat.Message) (people, error) {
	var ids []string
	names := people{}
	for _, m := range messages {
		ids = append(ids, m.UserID)
		for _, id := range mentioned.FindAllStringSubmatch(m.Text, -1) {
			ids = append(ids, id[1])
		}
		for _, r := range m.Reactions {
			ids = append(ids, r.UserID)
		}
	}
	users, err := db.Users(ctx, team, ids)
	if err != nil {
		return nil, err
	}
	for id, u := range users {
		names[id] = u.Name
	}
	for _, m := range messages {
		if m.Own && m.UserID != "" {
			names[m.UserID] = "the bot"
		}
	}
	return names, nil
}

// line is a message on a line of its own.
func (n people) line(m chat.Message, where chat.Conversation, zone *time.Location) string {
	who := cmp.Or(m.Name, n[m.UserID], m.UserID, m.BotID)
	if m.Own {
		who = "the bot"
	}
	text := m.Text
	for id, name := range n {
		text = chat.Unmention(text, id, name)
	}
	for _, f := range m.Files {
		text += " [" + f.Name + "]"
	}
	for _, r := range m.Reactions {
		text += fmt.Sprintf(" (:%s: %s)", r.Name, cmp.Or(n[r.UserID], r.UserID))
	}
	if where.TopLevel() && m.ThreadTS != "" {
		who = "in its thread, " + who
	}
	return fmt.Sprintf("  %s  %s: %s", m.Time().In(zone).Format("15:04:05"), timeline.Plain(who), timeline.Plain(text))
}
