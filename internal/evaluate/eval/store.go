package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"myao/internal/config"
)

// Header says what a run is of. A run goes on only under the same header, its start aside.
type Header struct {
	V       int    `json:"v"`
	Cases   string `json:"cases"`  // hash of the cases
	Count   int    `json:"count"`  // of cases
	Repeat  int    `json:"repeat"` // how often each is asked
	Answers int    `json:"answers"`
	// Judge is what answers: Prompt the fingerprint of its templates, Settings that of all that
	// bears on an answer besides.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Prompt   string `json:"prompt"`
	Settings string `json:"settings"`
	// MinConfidence is the threshold below which a yes is silence.
	MinConfidence float64   `json:"min_confidence"`
	Revision      string    `json:"revision"` // of the program
	Began         time.Time `json:"began"`
	// Input and Output are the model's prices for a million tokens, by llm.prices; 0 if unknown.
	Input  float64 `json:"price_input,omitempty"`
	Output float64 `json:"price_output,omitempty"`
	Cached float64 `json:"price_cached_input,omitempty"`
}

// Run is a run as its folder has it: header.json and rows.jsonl.
type Run struct {
	Header Header
	Rows   []Row // by case, then by repeat
}

// Figures are the figures of its rows, with what they cost at the header's prices.
func (r Run) Figures() Figures {
	f := Figure(r.Rows)
	if r.Header.Input+r.Header.Output > 0 {
		price := config.Price{Input: r.Header.Input, Output: r.Header.Output, CachedInput: r.Header.Cached}
		cost := price.Cost(f.TokensIn, f.TokensCached, f.TokensOut)
		f.Cost = &cost
	}
	return f
}

// Finished reports whether each case has all its answers.
func (r Run) Finished() bool { return len(r.Rows) == r.Header.Answers }

const (
	headerFile = "header.json"
	rowsFile   = "rows.jsonl"
)

// ErrOtherRun says that a folder holds a run with another header.
var ErrOtherRun = errors.New("the folder holds a run of other cases, another judge or other settings")

// log is the folder of a run that rows are appended to. A row is written whole or, by a crash, not:
// a half-written last line is cut off when the run goes on.
type log struct {
	file   *os.File // nil keeps nothing
	header Header   // with the time of the run's first start
	rows   []Row    // that were there
}

// openLog begins a run in dir, or goes on with the one that is there. It returns ErrOtherRun
// where that has another header.
func openLog(dir string, h Header) (*log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	existing, err := readHeader(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		body, err := json.MarshalIndent(h, "", "  ")
		if err != nil {
			return nil, err
		}
		// A header that is cut short would end the run for good.
		if err := writeWhole(filepath.Join(dir, headerFile), append(body, '\n')); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if h.Began, h.Input, h.Output = existing.Began, existing.Input, existing.Output; existing != h {
			return nil, fmt.Errorf("%s: %w: choose another folder, or remove this one", dir, ErrOtherRun)
		}
	}
	file, err := os.OpenFile(filepath.Join(dir, rowsFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	rows, end, err := readRows(file)
	if err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return &log{file, h, rows}, nil
}

func (l *log) append(r Row) error {
	if l.file == nil {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

func (l *log) close() error { return l.file.Close() }

func readHeader(dir string) (h Header, err error) {
	body, err := os.ReadFile(filepath.Join(dir, headerFile))
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(body, &h); err != nil {
		return h, fmt.Errorf("%s: %w", filepath.Join(dir, headerFile), err)
	}
	return h, nil
}

// readRows reads whole lines, and returns where the last of them ends.
func readRows(r io.Reader) (rows []Row, end int64, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return rows, end, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var row Row
		if err := json.Unmarshal(bytes.TrimSpace(line), &row); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", len(rows)+1, err)
		}
		rows = append(rows, row)
		end += int64(len(line))
	}
}

// ReadRun reads the folder of a run, finished or not.
func ReadRun(dir string) (Run, error) {
	h, err := readHeader(dir)
	if err != nil {
		return Run{}, fmt.Errorf("read run %s: %w", dir, err)
	}
	file, err := os.Open(filepath.Join(dir, rowsFile))
	if err != nil {
		return Run{}, fmt.Errorf("read run %s: %w", dir, err)
	}
	defer func() { _ = file.Close() }()
	rows, _, err := readRows(file)
	if err != nil {
		return Run{}, fmt.Errorf("read run %s: %w", dir, err)
	}
	return Run{h, inOrder(rows)}, nil
}

// inOrder sorts rows by case and repeat, in whatever order they were answered.
func inOrder(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		if a.Case != b.Case {
			if a.Case < b.Case {
				return -1
			}
			return 1
		}
		return a.Repeat - b.Repeat
	})
	return rows
}
