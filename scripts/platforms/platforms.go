// Package platforms lists what a release is built for.
package platforms

// Programs are the packages of the released programs.
var Programs = []string{"myao/worker", "myao/starter", "myao/sandbox"}

// Platform is an operating system and a processor, as Go names them.
type Platform struct{ OS, Arch string }

// All are the released platforms.
var All = []Platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// Env returns the environment variables with which the go command builds for the platform.
func (p Platform) Env() []string {
	return []string{"CGO_ENABLED=0", "GOOS=" + p.OS, "GOARCH=" + p.Arch}
}
