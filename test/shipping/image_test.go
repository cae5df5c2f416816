package shipping

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The image holds only the programs and the certificates, and runs as nobody.
func TestImage(t *testing.T) {
	t.Parallel()
	text := read(t, "Dockerfile")
	for _, f := range imageFaults(t, text) {
		t.Error(f)
	}
	spoil(t, text, imageFaults, []spoiling{
		{"a base", "FROM scratch", "FROM alpine:3", "not made from scratch"},
		{"root", "USER 65532:65532", "USER root", "runs as root"},
		{"nobody named", "USER 65532:65532", "", "runs as nobody in particular"},
		{"a program that is not there", "/out/worker /out/starter /", "/out/starter /", "lacks worker"},
		{"no licences", "COPY --from=build /src/LICENSE /src/THIRD_PARTY_NOTICES /", "", "lacks the licences"},
		{"the tree", "COPY --from=build /out/worker", "COPY . /src\nCOPY --from=build /out/worker", "holds . /src"},
		{"a shell command", "EXPOSE", "RUN chmod u+s /worker\nEXPOSE", "RUN chmod"},
		{"another port", "EXPOSE 8080 8081", "EXPOSE 8080", "8081"},
		{"no revision", "-trimpath", "-trimpath -buildvcs=false", "revision"},
		{"C", "CGO_ENABLED=0 ", "", "libc"},
		{"an older Go", "ARG GO=golang:1.", "ARG GO=golang:0.", "go.mod wants"},
		{"whatever Go", "ARG GO=golang:1.26.8", "ARG GO=golang:latest", "no version of Go"},
	})
}

func imageFaults(t *testing.T, text string) (f faults) {
	t.Helper()
	built, image, found := strings.Cut(text, "\nFROM scratch\n") // before it is the sandbox's image
	if !found {
		return faults{"it is not made from scratch"}
	}
	user, holds, exposed := "nobody in particular", []string(nil), ""
	for line := range strings.Lines(image) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "", "#", "ENTRYPOINT", "CMD":
		case "EXPOSE":
			exposed = rest
		case "USER":
			user = rest
		case "COPY":
			from, what, _ := strings.Cut(rest, " ")
			parts := strings.Fields(what)
			f.want(from == "--from=build" && len(parts) > 1, "it holds %s", rest)
			holds = append(holds, parts[:max(0, len(parts)-1)]...)
		default:
			f.add("it does more than it should: %s", strings.TrimSpace(line))
		}
	}
	f.want(user == fmt.Sprintf("%d:%[1]d", nobody), "it runs as %s", user)
	for program, port := range ports {
		f.want(slices.Contains(holds, "/out/"+program), "it lacks %s", program)
		f.want(slices.Contains(strings.Fields(exposed), fmt.Sprint(port)), "it does not expose %d, of %s", port, program)
	}
	f.want(slices.Contains(holds, "/etc/ssl/certs/ca-certificates.crt"), "it lacks the certificates")
	f.want(slices.Contains(holds, "/src/LICENSE") && slices.Contains(holds, "/src/THIRD_PARTY_NOTICES"), "it lacks the licences")
	f.want(len(holds) == len(ports)+3, "it holds %q", holds)

	f.want(strings.Contains(built, "RUN CGO_ENABLED=0 go build "), "the programs need a libc")
	f.want(!strings.Contains(built, "-buildvcs=false"), "the programs do not know their revision")
	wanted := regexp.MustCompile(`(?m)^go (\d+)\.(\d+)`).FindStringSubmatch(read(t, "go.mod"))
	version := regexp.MustCompile(`(?m)^ARG GO=golang:(\d+)\.(\d+)\.(\d+)$`).FindStringSubmatch(built)
	switch {
	case version == nil:
		f.add("it names no version of Go")
	case version[1] != wanted[1] || version[2] != wanted[2]:
		f.add("it is built with Go %s.%s, and go.mod wants %s.%s", version[1], version[2], wanted[1], wanted[2])
	}
	return f
}

// .dockerignore excludes local secrets and data. It excludes no file that git tracks, because the
// programs would then report a modified tree.
func TestDockerignoreExcludesOnlyLocalFiles(t *testing.T) {
	t.Parallel()
	ignored := strings.Fields(read(t, ".dockerignore"))
	for _, secret := range []string{".env", "config.yaml", "data", "**/*.db", "**/secret.yaml"} {
		if !slices.Contains(ignored, secret) {
			t.Errorf("%s may get into a layer", secret)
		}
	}
	for _, needed := range []string{".git", "go.mod", "templates", "deploy"} {
		if slices.Contains(ignored, needed) {
			t.Errorf("%s is left out", needed)
		}
	}
}
