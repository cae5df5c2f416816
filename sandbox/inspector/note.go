package inspector

import (
	"context"
	"crypto/rand"
	"net/http"

	"myao/internal/chat"
	"myao/internal/runtime/timeout"
)

type forgetNoteRequest struct {
	Channel string `json:"channel"`
	User    string `json:"user"`
	ID      int64  `json:"id"`
}

// forgetNote takes back a note for a visitor.
func (w *Inspector) forgetNote(ctx context.Context, in forgetNoteRequest) error {
	c, err := w.conversation(in.Channel, "")
	if err != nil {
		return badRequest("%v", err)
	}
	if !slackID.MatchString(in.User) {
		return badRequest("user %q: want the id of a user, such as U0123456789", in.User)
	}
	system := w.system.Load()
	if system == nil {
		return errStarting
	}
	ctx, cancel := timeout.After(ctx, readTimeout)
	defer cancel()
	found, err := system.Store.ForgetNote(ctx, chat.Scope(c), in.ID, "page-"+rand.Text(), "slack:"+in.User)
	if err == nil && !found {
		return &httpError{http.StatusConflict, "That note is gone already."}
	}
	return err
}
