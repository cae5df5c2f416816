// Package decoding bounds the memory that files and pages of strangers take while they are read, over the
// whole process. It is taken before a byte is downloaded, and again before anything is decoded.
package decoding

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// The programs are shipped with 512 MiB of memory (docker-compose.yml, deploy/kubernetes), and take
// about a hundred at rest.
const (
	// MaxBodies is what bodies may take that are or were downloaded, in bytes.
	MaxBodies = 24 << 20
	// MaxScratch is what all decoders may take at once beyond that, and so the most that one may.
	MaxScratch = 104 << 20
	// large is what is worth collecting before it is given to somebody else, so that the next one does
	// not come on top of it.
	large = 16 << 20
)

// Memory is what a process has for it. It is safe for concurrent use. Whoever waits for scratch
// may hold bodies, but never the other way round.
type Memory struct{ bodies, scratch *semaphore.Weighted }

// New makes a Memory. A process needs one.
func New() *Memory {
	return &Memory{bodies: semaphore.NewWeighted(MaxBodies), scratch: semaphore.NewWeighted(MaxScratch)}
}

// Body waits until a body of so many bytes may be downloaded, and returns what gives its memory back. It
// returns the context's error.
func (m *Memory) Body(ctx context.Context, bytes int64) (release func(), err error) {
	n := min(bytes, MaxBodies)
	if err := m.bodies.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { m.bodies.Release(n) }, nil
}

// Scratch waits until a decoder may take so many bytes, which are at most MaxScratch, and returns what gives
// them back. It returns the context's error.
func (m *Memory) Scratch(ctx context.Context, bytes int64) (release func(), err error) {
	n := min(bytes, MaxScratch)
	if err := m.scratch.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() {
		if n >= large {
			debug.FreeOSMemory()
		}
		m.scratch.Release(n)
	}, nil
}
