package door

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"myao/internal/operate/chatops"
	"myao/internal/runtime/timeout"
	"myao/internal/slack"
	"myao/internal/slack/manifest"
)

const (
	// homeTimeout is how long building and publishing a Home tab may take, with waiting for others.
	homeTimeout = 6 * time.Second
	// homesAtOnce is how many are built at a time.
	homesAtOnce = 4
)

// Home shows people the Home tab.
type Home interface {
	// Publish shows a person their Home tab as of now, with a notice at the top unless it is empty.
	Publish(ctx context.Context, v chatops.Viewer, notice slack.Answer) error
	// Click carries out what a button in it stands for. It returns what came of it, for the person and
	// for the metrics (CommandHandler).
	Click(ctx context.Context, b slack.BlockAction, v chatops.Viewer) (notice slack.Answer, result string)
	// Wrong says what is wrong with what somebody has entered in the form of a channel's settings, by its fields.
	Wrong(ctx context.Context, s slack.ViewSubmission, own slack.Identity) map[string]string
	// Submit sets what was entered, as Click does.
	Submit(ctx context.Context, s slack.ViewSubmission, v chatops.Viewer) (notice slack.Answer, result string)
}

// homes coalesces requests to build the Home tab of one person. The zero value is ready.
type homes struct {
	mu sync.Mutex
	// building holds, by user, what was asked for while their Home tab is being built.
	building map[string]*asked
	slots    chan struct{}
}

// asked is whether a Home tab has to be built once more, and with which notice.
type asked struct {
	again  bool
	notice slack.Answer
}

// begin reports whether the caller is to build the Home tab of a user. Otherwise whoever does builds it
// once more.
func (h *homes) begin(user string, notice slack.Answer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.building == nil {
		h.building, h.slots = map[string]*asked{}, make(chan struct{}, homesAtOnce)
	}
	if a := h.building[user]; a != nil {
		a.again, a.notice = true, cmp.Or(notice, a.notice)
		return false
	}
	h.building[user] = &asked{}
	return true
}

// end ends one building of a Home tab, and returns what was asked for meanwhile.
func (h *homes) end(user string) asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := *h.building[user]
	if a.again {
		h.building[user] = &asked{}
	} else {
		delete(h.building, user)
	}
	return a
}

// homeOpened has the Home tab built that somebody opened. It is acknowledged at once. The tab of messages
// gets suggestions of what to ask, where the app is one that Slack shows them for.
func (d room) homeOpened(ctx context.Context, e slack.HomeOpened, own slack.Identity) error {
	switch {
	case e.Tab == slack.TabHome:
		d.publishHome(ctx, e.User, own, slack.Answer{})
	case e.Tab == slack.TabMessages && e.Channel != "" && d.Slack.Has(manifest.AgentScope):
		d.pending.Go(func() {
			ctx, cancel := timeout.After(context.WithoutCancel(ctx), respondTimeout)
			defer cancel()
			if err := d.Slack.SuggestPrompts(ctx, e.Channel, manifest.Prompts(d.Config.Language)); err != nil {
				d.Logger.WarnContext(ctx, "no prompts suggested", "channel", e.Channel, "error", err)
			}
		})
	default:
		return fmt.Errorf("%w: the tab %q was opened", slack.ErrIgnored, e.Tab)
	}
	d.Metrics.event("opened")
	return nil
}

// publishHome has somebody's Home tab built and published. While that is under way, it is only asked for
// once more.
func (d room) publishHome(ctx context.Context, user string, own slack.Identity, notice slack.Answer) {
	if !d.homes.begin(user, notice) {
		return
	}
	d.pending.Go(func() {
		for next := (asked{true, notice}); next.again; next = d.homes.end(user) {
			if err := d.publishHomeOnce(ctx, user, own, next.notice); err != nil {
				d.Logger.WarnContext(ctx, "home tab not published", "user", user, "error", err)
			}
		}
	})
}

func (d room) publishHomeOnce(ctx context.Context, user string, own slack.Identity, notice slack.Answer) error {
	ctx, cancel := timeout.After(context.WithoutCancel(ctx), homeTimeout)
	defer cancel()
	select {
	case d.homes.slots <- struct{}{}:
		defer func() { <-d.homes.slots }()
	case <-ctx.Done():
		return fmt.Errorf("wait for others: %w", ctx.Err())
	}
	return d.Home.Publish(ctx, d.viewer(ctx, user, own), notice)
}

// viewer says who a user is. Somebody whom Slack has never described counts as an outsider.
func (d room) viewer(ctx context.Context, user string, own slack.Identity) chatops.Viewer {
	v := chatops.Viewer{User: user, Own: own}
	described, err := d.whoIs(ctx, own.TeamID, user)
	if err != nil {
		d.Logger.WarnContext(ctx, "cannot ask whether a user is an outsider", "user", user, "error", err)
		known, err := d.Store.Users(ctx, own.TeamID, []string{user})
		described = known[user]
		v.Outsider = err != nil || described.Refreshed.Unix() <= 0
	}
	v.Outsider = v.Outsider || described.Outsider()
	return v
}

// homeButton carries out the use of a button in the Home tab, and shows there what came of it.
func (d room) homeButton(ctx context.Context, b slack.BlockAction, own slack.Identity) error {
	r := b.Request
	r.Channel = b.Value
	d.inHome(ctx, r, own, b.ActionID, func(ctx context.Context, v chatops.Viewer) (slack.Answer, string) {
		return d.Home.Click(ctx, b, v)
	})
	return nil
}

// homeForm carries out the use of a form that a button of the Home tab has opened, as homeButton does. While something
// in it is wrong, the answer says so and the form stays open.
func (d room) homeForm(ctx context.Context, s slack.ViewSubmission, own slack.Identity) (json.RawMessage, error) {
	r := s.Request
	r.Channel = s.Metadata
	if wrong := d.Home.Wrong(ctx, s, own); len(wrong) > 0 {
		d.orderHandled(ctx, chatops.HomeOrder(s.Callback), "refused", r, own)
		return slack.FormErrors(wrong), nil
	}
	d.inHome(ctx, r, own, s.Callback, func(ctx context.Context, v chatops.Viewer) (slack.Answer, string) {
		return d.Home.Submit(ctx, s, v)
	})
	return nil, nil
}

func (d room) inHome(ctx context.Context, r slack.Request, own slack.Identity, action string,
	do func(context.Context, chatops.Viewer) (notice slack.Answer, result string)) {
	d.pending.Go(func() {
		work, cancel := timeout.After(context.WithoutCancel(ctx), commandTimeout)
		defer cancel()
		notice, result := do(work, d.viewer(work, r.User, own))
		d.orderHandled(work, chatops.HomeOrder(action), result, r, own)
		if notice.Text != "" { // nothing has changed where a form was opened
			d.publishHome(ctx, r.User, own, notice)
		}
	})
}
