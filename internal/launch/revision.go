package launch

import "runtime/debug"

// Revision returns the short revision that a program was built from, or "" if it is unknown. It ends
// in "-modified" if the tree had uncommitted changes.
func Revision(build *debug.BuildInfo) string {
	if build == nil {
		return ""
	}
	const short = 12
	id, modified := "", ""
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value[:min(short, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	if id == "" {
		return ""
	}
	return id + modified
}
