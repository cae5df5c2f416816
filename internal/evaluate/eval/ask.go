package eval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"myao/internal/answer/agents"
	"myao/internal/chat"
	"myao/internal/llm"
)

// ErrNotRecorded says that a cache that alone may answer lacks an answer.
var ErrNotRecorded = errors.New("its answer is not recorded in the cache; run once without --cached-only")

// Cache is a folder of recorded answers, one file each, named by a hash of all that was sent.
type Cache struct {
	Dir string
	// Only has every answer come from the cache.
	Only bool
}

// recorded is one answer, or a failure that would be the same again.
type recorded struct {
	Response  llm.Response `json:"response"`
	Failure   string       `json:"failure,omitempty"` // its kind
	Error     *llm.Error   `json:"error,omitempty"`
	LatencyMS int64        `json:"latency_ms"`
}

// lasting are the kinds of failures that the same request meets again.
var lasting = []error{llm.ErrCut, llm.ErrEmpty, llm.ErrBlocked, llm.ErrInvalid}

// asker is the model of one case, asked once: it answers from the cache or asks, and counts.
type asker struct {
	model  llm.Model
	cache  *Cache // nil: always ask
	sender string // provider and address, for the key
	repeat int
	clock  func() time.Time // the machine's
	row    *Row
}

// latencyStep is how exact latencies are: less is noise of this machine.
const latencyStep = 100 // milliseconds

// Generate implements llm.Model.
func (a *asker) Generate(ctx context.Context, r llm.Request) (llm.Response, error) {
	answer, err := a.answer(ctx, r)
	if errors.Is(err, ErrNotRecorded) {
		return llm.Response{}, err
	}
	failure, _ := errors.AsType[*llm.Error](err)
	if ctx.Err() != nil {
		return answer.Response, err
	}
	a.row.Calls++
	a.row.TokensIn += answer.Response.Usage.Input
	a.row.TokensCached += answer.Response.Usage.Cached
	a.row.TokensOut += answer.Response.Usage.Output
	a.row.LatencyMS += answer.LatencyMS / latencyStep * latencyStep
	a.row.System, a.row.Prompt = r.System, r.Prompt
	if failure != nil && answer.Response.Usage == (llm.Usage{}) {
		a.row.TokensIn += failure.Usage.Input
		a.row.TokensOut += failure.Usage.Output
	}
	return answer.Response, err
}

func (a *asker) answer(ctx context.Context, r llm.Request) (recorded, error) {
	if a.cache == nil {
		return a.ask(ctx, r)
	}
	path, err := a.path(r)
	if err != nil {
		return recorded{}, err
	}
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if a.cache.Only {
			return recorded{}, ErrNotRecorded
		}
		return a.askAndRecord(ctx, r, path)
	}
	var known recorded
	if err == nil {
		err = json.Unmarshal(body, &known)
	}
	if err != nil {
		return recorded{}, fmt.Errorf("read recorded answer %s: %w", path, err)
	}
	if known.Error == nil {
		return known, nil
	}
	for _, kind := range lasting {
		if llm.KindOf(kind) == known.Failure {
			known.Error.Kind = kind
		}
	}
	return known, known.Error
}

// path is the file of an answer. The key is of everything that is sent, and the repeat's number.
func (a *asker) path(r llm.Request) (string, error) {
	body, err := json.Marshal(struct {
		Sender  string
		Repeat  int
		Request llm.Request
	}{a.sender, a.repeat, r})
	if err != nil {
		return "", err
	}
	return filepath.Join(a.cache.Dir, fmt.Sprintf("%x.json", sha256.Sum256(body))), nil
}

func (a *asker) ask(ctx context.Context, r llm.Request) (recorded, error) {
	begin := a.clock()
	response, err := a.model.Generate(ctx, r)
	return recorded{Response: response, LatencyMS: a.clock().Sub(begin).Milliseconds()}, err
}

func (a *asker) askAndRecord(ctx context.Context, r llm.Request, path string) (recorded, error) {
	answer, err := a.ask(ctx, r)
	keep := answer
	if err != nil {
		failure, ok := errors.AsType[*llm.Error](err)
		if keep.Failure = llm.KindOf(err); !ok || !isLasting(err) {
			return answer, err
		}
		kept := *failure
		kept.Kind, kept.Err = nil, nil
		keep.Error = &kept
	}
	body, failed := json.Marshal(keep)
	if failed == nil {
		failed = os.MkdirAll(a.cache.Dir, 0o700)
	}
	if failed == nil {
		failed = writeWhole(path, body)
	}
	return answer, cmp.Or(err, wrapped("record answer", failed))
}

func isLasting(err error) bool {
	for _, kind := range lasting {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// writeWhole writes a file in place at once, or not at all.
func writeWhole(path string, body []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// ofModel reports whether an error is that of a model, rather than of the database or of a stop.
func ofModel(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, ErrNotRecorded) {
		return false
	}
	_, refused := errors.AsType[*llm.Error](err)
	_, final := errors.AsType[*agents.FinalError](err)
	return refused || final
}

func newVerdict(v chat.Verdict) *Verdict {
	return &Verdict{
		ShouldRespond: v.ShouldRespond, Confidence: v.Confidence, DelaySeconds: v.DelaySeconds, Reason: v.Reason,
		Addressee: v.Addressee, Gist: v.Gist,
	}
}
