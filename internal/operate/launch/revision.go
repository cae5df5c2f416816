package launch

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

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

// Version says which release and revision the program is, and what it was built with and for.
func Version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("myao %s, revision %s, %s, %s/%s", build.Main.Version, cmp.Or(Revision(build), "unknown"),
		build.GoVersion, runtime.GOOS, runtime.GOARCH)
}
