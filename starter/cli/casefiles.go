package cli

import (
	"fmt"
	"io"
	"os"

	"myao/internal/evaluate/eval"
	"myao/internal/operate/timeline"
)

// caseFiles is the argument of the commands that read cases.
type caseFiles struct {
	Files []string `arg:"" name:"file" help:"Files of cases, one JSON object a line (docs/judgment-format.md)."`
}

// read reads all files. A fault is returned for each thing that is wrong in them.
func (c caseFiles) read() (cases []eval.Case, faults []eval.Fault, err error) {
	in := map[string]string{} // file by id
	for _, path := range c.Files {
		found, err := readCases(path)
		if faulty := eval.Faults(err); len(faulty) > 0 {
			faults = append(faults, faulty...)
		} else if err != nil {
			return nil, nil, err
		}
		for _, one := range found {
			if other, known := in[one.ID]; known && other != path {
				faults = append(faults, eval.Fault{File: path, Key: "id",
					Text: fmt.Sprintf("%q stands in %s, too: each case has an id of its own", one.ID, other)})
			} else if known {
				return nil, nil, fmt.Errorf("%s is named twice", path)
			}
			in[one.ID] = path
		}
		cases = append(cases, found...)
	}
	return cases, faults, nil
}

func readCases(path string) ([]eval.Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return eval.Read(path, file)
}

// printFaults prints a line for each fault, and returns an error that counts them.
func printFaults(w io.Writer, faults []eval.Fault) error {
	for _, f := range faults {
		if _, err := fmt.Fprintln(w, timeline.Plain(f.Error())); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d faults in the case files", len(faults))
}
