package tools

import (
	"context"
	"strings"

	"myao/internal/answer/playbook"
	"myao/internal/chat"
)

type readPlaybookInput struct {
	Name string `json:"name" jsonschema:"the title of the playbook, as it is listed"`
}

func readPlaybook(s Sources) tool {
	t := define(chat.ToolReadPlaybook, "Reads a playbook: how something is done here, as those who run you wrote it.",
		func(_ context.Context, _ Place, _ string, in readPlaybookInput) (string, error) {
			all := s.Playbooks.All()
			if p, ok := playbook.Find(all, in.Name); ok {
				return p.Text, nil
			}
			var titles []string
			for _, p := range all {
				titles = append(titles, p.Title)
			}
			return "", mistakef("There is no playbook %q. There are: %s.", in.Name, strings.Join(titles, "; "))
		})
	t.inside = true
	t.available = func() bool { return len(s.Playbooks.All()) > 0 }
	return t
}
