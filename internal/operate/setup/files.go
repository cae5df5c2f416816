package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// file is a file to be written.
type file struct {
	path string
	data []byte
	mode os.FileMode
}

// written reports whether the file has this content already.
func (f file) written() bool {
	data, err := os.ReadFile(f.path)
	return err == nil && bytes.Equal(data, f.data)
}

// mayWrite returns an error unless files can be written to the paths: they are free, or somebody agreed to
// replace what is there.
func (r *run) mayWrite(ctx context.Context, paths ...string) error {
	if info, err := os.Stat(filepath.Dir(r.Path)); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no directory", filepath.Dir(r.Path))
	}
	var there []string
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is there and is no plain file: move it away, or name another place by --config", path)
		default:
			there = append(there, path)
		}
	}
	names := strings.Join(there, " and ")
	switch {
	case len(there) == 0 || r.Overwrite:
		return nil
	case r.yes:
		return fmt.Errorf("%s: there already. --overwrite replaces it, and keeps the old one under the same name "+
			"with .old", names)
	}
	answer, err := r.ask(ctx, prompt{text: names + ": there already. To replace, and keep the old under the same " +
		"name with .old, type yes", optional: true})
	if err != nil {
		return err
	}
	if answer != "yes" {
		return fmt.Errorf("%s: left as it was. --config names another place", names)
	}
	return nil
}

// write writes all files, or none if one cannot be written at all. A file that is there is kept under
// another name.
func write(files ...file) (err error) {
	temporary := make([]string, len(files))
	defer func() {
		for _, name := range temporary {
			if name != "" {
				_ = os.Remove(name) // gone where all went well
			}
		}
	}()
	for i, f := range files {
		if temporary[i], err = writeTemporary(f); err != nil {
			return err
		}
	}
	for i, f := range files {
		if err := keep(f.path); err != nil {
			return err
		}
		if err := os.Rename(temporary[i], f.path); err != nil {
			return err
		}
	}
	return nil
}

// writeTemporary writes a file under a name of its own in the same directory.
func writeTemporary(f file) (name string, err error) {
	t, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".new-*") // readable for its owner alone
	if err != nil {
		return "", err
	}
	_, err = t.Write(f.data)
	return t.Name(), errors.Join(err, t.Chmod(f.mode), t.Sync(), t.Close())
}

// keep renames a file that is there to the first free name of NAME.old, NAME.old2, …
func keep(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for i := 1; ; i++ {
		old := path + ".old"
		if i > 1 {
			old += fmt.Sprint(i)
		}
		if _, err := os.Lstat(old); errors.Is(err, os.ErrNotExist) {
			return os.Rename(path, old)
		} else if err != nil {
			return err
		}
	}
}
