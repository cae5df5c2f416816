package store

import (
	"embed"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

//go:embed migrations/*.sql
var embedded embed.FS

// embeddedMigrations are the migrations of this program.
func embeddedMigrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}

// rendered is migrations for one kind of database. They are one text for both (migrations/README.md).
type rendered struct {
	fs.FS
	// database is the prefix of the lines that are only for this kind of database.
	database string
	// words replaces what the two databases call differently.
	words *strings.Replacer
}

var (
	postgresWords = strings.NewReplacer(` TEXT COLLATE "default"`, " TEXT", " TEXT", ` TEXT COLLATE "C"`)
	sqliteWords   = strings.NewReplacer(` COLLATE "default"`, "", "BYTEA", "BLOB",
		"BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT")
)

// oneDatabase matches a line that is only for one kind of database.
var oneDatabase = regexp.MustCompile(`(?s)^-- (postgres|sqlite): (.*)`)

func (r rendered) render(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if only := oneDatabase.FindStringSubmatch(line); only == nil {
			out.WriteString(line)
		} else if only[1] == r.database {
			out.WriteString(only[2])
		}
	}
	return r.words.Replace(out.String())
}

// Open implements fs.FS.
func (r rendered) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return f, err
	}
	text, err := io.ReadAll(f)
	return renderedFile{f, strings.NewReader(r.render(string(text)))}, err
}

type renderedFile struct {
	fs.File
	text io.Reader
}

// Read implements fs.File.
func (f renderedFile) Read(p []byte) (int, error) { return f.text.Read(p) }
