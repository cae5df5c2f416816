package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"myao/internal/answer/playbook"
)

// playbooks reads the operator's playbooks, those of workspaces too, and names those that are left out. Running
// programs read them again when they change.
func (e *examination) playbooks(context.Context) Finding {
	dirs := []string{e.Config.PlaybooksDir}
	for _, id := range slices.Sorted(maps.Keys(e.Config.Workspaces)) {
		dirs = append(dirs, e.Config.Workspaces[id].PlaybooksDir)
	}
	var read, faults []string
	for i, dir := range dirs {
		if dir == "" || slices.Contains(dirs[:i], dir) {
			continue
		}
		all, left := playbook.Read(dir)
		var titles []string
		for _, p := range all {
			titles = append(titles, p.Title)
		}
		read = append(read, fmt.Sprintf("%d in %s", len(all), strings.Join(append([]string{dir}, titles...), "; ")))
		for _, f := range left {
			faults = append(faults, strings.TrimSpace(dir+" "+f.File)+" "+f.Reason)
		}
	}
	if len(faults) > 0 {
		return warn("correct or remove what is left out; the other playbooks serve", "left out: %s",
			strings.Join(faults, "; "))
	}
	if len(read) == 0 {
		return ok("none: playbooks_dir is empty")
	}
	return ok("%s", strings.Join(read, "; "))
}
