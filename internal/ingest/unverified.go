package ingest

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

const (
	// bodyLimit is the size of the largest body that is read, in bytes.
	bodyLimit = 1 << 20
	// smallBody is a size that most of Slack's bodies do not reach, in bytes.
	smallBody = 64 << 10
	// smallBodies and largeBodies bound, in bytes, the bodies that are being read, or wait for the check
	// of their signature. Small ones have a bound of their own, so that a few large and slow ones do
	// not keep Slack's events out.
	smallBodies = 16 << 20
	largeBodies = 8 << 20
)

var (
	errTooLarge   = errors.New("the body is larger than 1 MiB")
	errEndedEarly = errors.New("the body ended early")
	errCrowded    = errors.New("too many requests are being read; send it again")
)

// unverified counts the bytes of bodies whose signature has not been checked yet. Anybody may send them.
type unverified struct {
	small, large atomic.Int64
}

// reserve takes room for a body of so many bytes, until free is called. It returns false if there is none.
func (u *unverified) reserve(size int64) (free func(), ok bool) {
	used, most := &u.large, int64(largeBodies)
	if size <= smallBody {
		used, most = &u.small, smallBodies
	}
	free = func() { used.Add(-size) }
	if used.Add(size) > most {
		free()
		return nil, false
	}
	return free, true
}

// readVerified reads a body, and checks its signature with verify. It returns errCrowded, before
// anything is read, if there is no room for as much as the request announces. A body of unknown
// size counts as small, and as the largest once it is not.
func (u *unverified) readVerified(w http.ResponseWriter, r *http.Request, verify func(body []byte) error) ([]byte, error) {
	limited, announced := http.MaxBytesReader(w, r.Body, bodyLimit), r.ContentLength
	if announced > bodyLimit {
		return nil, errTooLarge
	}
	if announced < 0 {
		announced = smallBody
	}
	free, ok := u.reserve(announced)
	if !ok {
		return nil, errCrowded
	}
	defer free()
	body, err := io.ReadAll(io.LimitReader(limited, announced))
	if err == nil && r.ContentLength < 0 && len(body) == smallBody {
		freeRest, ok := u.reserve(bodyLimit)
		if !ok {
			return nil, errCrowded
		}
		defer freeRest()
		var rest []byte
		rest, err = io.ReadAll(limited)
		body = append(body, rest...)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, errEndedEarly
	}
	return body, verify(body)
}
