package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"myao/internal/chat"
	"myao/internal/conversation"
	"myao/internal/llm/tap"
	"myao/internal/operate/operator"
	"myao/internal/runtime/temporal"
	"myao/internal/runtime/timeout"
	"myao/internal/store"
)

const (
	// orderTimeout is how long an order may take.
	orderTimeout = 10 * time.Second
	// triggerTimeout is how long Temporal may take to trigger a schedule.
	triggerTimeout = 5 * time.Second
)

// httpError is an error with an HTTP status.
type httpError struct {
	status int
	text   string
}

func (f *httpError) Error() string { return f.text }

func badRequest(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func unavailable(format string, args ...any) error {
	return &httpError{http.StatusServiceUnavailable, fmt.Sprintf(format, args...)}
}

var errStarting = unavailable("everything is still starting")

// action decodes a request's body and answers 204 when it is carried out.
func action[T any](do func(context.Context, T) error) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in T
		err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<16)).Decode(&in)
		if err != nil {
			err = badRequest("decode: %v", err)
		} else {
			err = do(r.Context(), in)
		}
		var f *httpError
		switch {
		case err == nil:
			rw.WriteHeader(http.StatusNoContent)
		case errors.As(err, &f):
			http.Error(rw, f.text, f.status)
		default:
			http.Error(rw, err.Error(), http.StatusInternalServerError)
		}
	})
}

type orderRequest struct {
	Channel string `json:"channel"`
	Thread  string `json:"thread"`
	User    string `json:"user"`
	Order   string `json:"order"`
	Seconds int    `json:"seconds"` // of a snooze
}

// order carries out a visitor's order to a conversation.
func (w *Inspector) order(ctx context.Context, in orderRequest) error {
	c, err := w.conversation(in.Channel, in.Thread)
	if err != nil {
		return badRequest("%v", err)
	}
	if !slackID.MatchString(in.User) {
		return badRequest("user %q: want the id of a user, such as U0123456789", in.User)
	}
	order := conversation.Order{By: "slack:" + in.User}
	switch in.Order {
	case conversation.UpdateAnswerNow, conversation.UpdateDrop, conversation.UpdateMute, conversation.UpdateUnmute:
	case conversation.UpdateSnooze:
		if longest := int(conversation.MaxSnooze / time.Second); in.Seconds < 1 || in.Seconds > longest {
			return badRequest("seconds %d: want 1 to %d", in.Seconds, longest)
		}
		order.Seconds = in.Seconds
	default:
		return badRequest("order %q: want answer-now, drop, snooze, mute or unmute", in.Order)
	}
	system := w.system.Load()
	switch {
	case system == nil:
		return errStarting
	case w.Worker.State() == Stopped:
		return unavailable("the worker is stopped: start it first")
	}
	ctx, cancel := timeout.After(ctx, orderTimeout)
	defer cancel()
	if err := system.Order(ctx, c, in.Order, order, ""); err != nil || in.Order != conversation.UpdateUnmute {
		return orderError(err)
	}
	now, err := system.Store.Situation(ctx, store.SituationRequest{
		Conversations: []chat.Conversation{c}, Open: store.ChoiceFilter{Team: c.Team}})
	switch {
	case err != nil:
		return err
	case now.Muted != nil:
		return &httpError{http.StatusConflict,
			"It stays silent: it is muted in the whole workspace, until /myao go or starter unmute --everywhere."}
	case !now.Silences.Until(c).IsZero(): // the order was about the thread
		return &httpError{http.StatusConflict, "The thread stays silent with its channel, until that is unmuted."}
	}
	return nil
}

// orderError is what a visitor gets for an operator's error.
func orderError(err error) error {
	var refused *operator.Refused
	switch {
	case errors.As(err, &refused):
		return &httpError{http.StatusConflict, refused.Text}
	case errors.Is(err, operator.ErrNoWorker), errors.Is(err, operator.ErrNoServer):
		return unavailable("not carried out within %s: %v", orderTimeout, err)
	}
	return err
}

type rememberRequest struct{}

// remember starts the scheduled memory run now. If one is running, another follows it, because the
// running one may have passed the visitor's conversation already.
func (w *Inspector) remember(ctx context.Context, _ rememberRequest) error {
	system := w.system.Load()
	if system == nil {
		return errStarting
	}
	ctx, cancel := timeout.After(ctx, triggerTimeout)
	defer cancel()
	err := system.Client.ScheduleClient().GetHandle(ctx, temporal.MemorySchedule).
		Trigger(ctx, client.ScheduleTriggerOptions{
			Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
		})
	var none *serviceerror.NotFound
	switch {
	case errors.As(err, &none):
		return unavailable("the starter has not created the memory schedule yet")
	case err != nil:
		return unavailable("start the memory run: %v", err)
	}
	return nil
}

type workerRequest struct {
	Do string `json:"do"`
}

func (w *Inspector) worker(_ context.Context, in workerRequest) error {
	switch in.Do {
	case "kill":
		return w.Worker.Kill()
	case "start":
		w.Worker.Start()
		return nil
	}
	return badRequest("do %q: want kill or start", in.Do)
}

type modelRequest struct {
	Down *bool `json:"down"`
}

func (w *Inspector) model(_ context.Context, in modelRequest) error {
	if in.Down == nil {
		return badRequest("down: want true or false")
	}
	w.Model.SetDown(*in.Down)
	return nil
}

// prompts is what the model was sent and answered for a decision, as far as that is still kept.
func (w *Inspector) prompts(rw http.ResponseWriter, r *http.Request) {
	decision := r.URL.Query().Get("decision")
	if decision == "" {
		http.Error(rw, "decision: want the key of one", http.StatusBadRequest)
		return
	}
	exchanges := w.Model.Exchanges(decision)
	if exchanges == nil {
		exchanges = []tap.Exchange{}
	}
	body, err := json.Marshal(exchanges)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Cache-Control", "no-store")
	_, _ = rw.Write(body)
}
