package launch

import "runtime/debug"

// Revision is the short revision that the program was built from, or "" where that
// is not known. A tree that was changed since is not what the revision says.
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
