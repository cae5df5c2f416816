package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// archive is a tar.gz or a zip file.
type archive interface {
	add(name string, size int64, mode os.FileMode, content io.Reader) error
	close() error
}

// pack writes an archive with a directory of its own name, and adds the suffix of its format to the
// path. All times are the given one, and no file has an owner, so the bytes depend on nothing else.
func pack(to string, zipped bool, files []file, when time.Time) (err error) {
	directory := filepath.Base(to)
	suffix := ".tar.gz"
	if zipped {
		suffix = ".zip"
	}
	out, err := os.Create(to + suffix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	a, err := newArchive(out, zipped, when)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := addFile(a, path.Join(directory, f.name), f); err != nil {
			return err
		}
	}
	return a.close()
}

func addFile(a archive, name string, f file) error {
	in, err := os.Open(f.from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if f.program {
		mode = 0o755
	}
	return a.add(name, info.Size(), mode, in)
}

func newArchive(out io.Writer, zipped bool, when time.Time) (archive, error) {
	if zipped {
		w := zip.NewWriter(out)
		w.RegisterCompressor(zip.Deflate,
			func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
		return &zipArchive{w, when}, nil
	}
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	return &tarArchive{tar.NewWriter(z), z, when}, nil
}

type tarArchive struct {
	*tar.Writer
	compressor io.Closer
	when       time.Time
}

func (a *tarArchive) add(name string, size int64, mode os.FileMode, content io.Reader) error {
	err := a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: int64(mode), ModTime: a.when,
		Format: tar.FormatUSTAR})
	if err == nil {
		_, err = io.Copy(a, content)
	}
	return err
}

func (a *tarArchive) close() error { return errors.Join(a.Close(), a.compressor.Close()) }

type zipArchive struct {
	*zip.Writer
	when time.Time
}

func (a *zipArchive) add(name string, _ int64, mode os.FileMode, content io.Reader) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.when}
	header.SetMode(mode)
	w, err := a.CreateHeader(header)
	if err == nil {
		_, err = io.Copy(w, content)
	}
	return err
}

func (a *zipArchive) close() error { return a.Close() }
