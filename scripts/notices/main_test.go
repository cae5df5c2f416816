package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestCheckNamesWhatChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "NOTICES")
	if err := run(file, false); err != nil {
		t.Fatal(err)
	}
	if err := run(file, true); err != nil {
		t.Errorf("just written: %v", err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kong := regexp.MustCompile(`github.com/alecthomas/kong v[0-9.]+: MIT`).FindString(string(written))
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(written), kong, "github.com/alecthomas/kong v0.1.0: MIT")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(file, true); err == nil || !strings.HasSuffix(err.Error(), "\n- github.com/alecthomas/kong v0.1.0: MIT\n+ "+kong) {
		t.Errorf("another version: %v", err)
	}
}

func TestLicencesOf(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"../../LICENSE":            "Apache-2.0",
		"pdfium/abseil.txt":        "Apache-2.0",
		"pdfium/fast_float.txt":    "MIT",
		"pdfium/libopenjpeg.txt":   "BSD-2-Clause",
		"pdfium/libjpeg_turbo.txt": "BSD-3-Clause",
		"pdfium/lcms.txt":          "MIT",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(licencesOf(string(text)), " "); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	for text, want := range map[string]string{
		"GNU LESSER GENERAL PUBLIC LICENSE\n   Version 3":           "LGPL",
		"GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991":         "GPL",
		"# Mozilla Public License\nVersion 2.0":                     "MPL",
		"You may use it under the terms of the weather, and gladly": "",
	} {
		if got := strings.Join(licencesOf(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
