package chatops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/slack"
	"myao/internal/store"
)

// maySettings completes "You may not …".
const maySettings = "change my settings here"

// The words that stand for a value: byDefault for what the file says, and none for an empty one.
const (
	byDefault = "default"
	none      = "none"
)

// maySet reports whether a user may set anything in the channels that they are in. Outsiders never may, unless the
// configuration names them as operators.
func (h *Handler) maySet(user string, outsider bool) bool {
	return h.Config.Slack.May(user, outsider, config.MaySettings)
}

// refusesSet says why a user may not set anything in a channel; it is empty if they may.
func (h *Handler) refusesSet(ctx context.Context, user string, outsider bool, f config.ChannelFacts) string {
	switch {
	case !h.maySet(user, outsider):
		return MayNot(h.Config, outsider, config.MaySettings, maySettings)
	case !slices.Contains(h.Members.Of(ctx, user), f.ID):
		return h.say("You may not %s: I do not see you among the members of this channel.", h.say(maySettings))
	case h.Config.LockedIn(f):
		return h.say(lockedHere)
	}
	return ""
}

const lockedHere = "My configuration fixes how I behave in this channel (`locked`), so nothing can be set here."

// settings tells how the bot behaves in the channel and where it has that from, or sets it.
func (h *Handler) settings(ctx context.Context, r request) (text, result string) {
	f := h.Directory.Facts(ctx, r.conversation.Team, r.Channel)
	if r.outsider {
		return MayNot(h.Config, true, config.MaySettings, maySettings), refused
	}
	if len(r.args) == 0 {
		return h.settingsText(r, f), done
	}
	if refusal := h.refusesSet(ctx, r.User, r.outsider, f); refusal != "" {
		return refusal, refused
	}
	key := strings.ToLower(r.args[0])
	if !slices.Contains(config.Settable(), key) || len(r.args) < 2 {
		return h.say("I did nothing. `%s settings KEY VALUE` sets something, and `%s settings KEY default` undoes that. "+
			"KEY is one of %s.", quoted(r.Name), quoted(r.Name), "`"+strings.Join(config.Settable(), "`, `")+"`"), refused
	}
	return h.set(ctx, r, f, map[string]string{key: strings.Join(r.args[1:], " ")})
}

// set sets what was typed for some keys of a channel, as far as that is new. The button undoes it.
func (h *Handler) set(ctx context.Context, r request, f config.ChannelFacts,
	typed map[string]string) (text, result string) {
	fresh, values := with(f, typed)
	var wrong *config.Error
	switch err := h.Config.CheckSet(fresh); {
	case errors.As(err, &wrong):
		return h.say("I did nothing: %s.", slack.Escape(wrong.Faults[0].String())), refused
	case err != nil:
		return h.say(lockedHere), refused
	case len(values) == 0:
		return h.say("It is so already."), done
	}
	if err := h.Store.SetInChannel(ctx, r.conversation, r.id(), r.by(), values); err != nil {
		return h.internalError(ctx, r, "settings", err)
	}
	before, now := h.values(f), h.values(fresh)
	var lines []string
	for _, key := range config.Settable() {
		if _, changed := values[key]; changed {
			lines = append(lines, h.say("`%s` is %s here from now on. It was %s.", key, now[key], before[key]))
		}
	}
	*r.button = slack.HomeButton{Action: slack.ActionUndoSettings, Value: r.id(), Label: h.say("Undo")}
	return strings.Join(lines, "\n"), done
}

// with returns a channel as it is with what was typed for some keys, and the values that are new.
func with(f config.ChannelFacts, typed map[string]string) (fresh config.ChannelFacts, values map[string]*string) {
	fresh, values = f, map[string]*string{}
	fresh.Set = chat.Set{}
	maps.Copy(fresh.Set, f.Set)
	for key, text := range typed {
		value := readSetting(key, text)
		in, set := f.Set[key]
		if value == nil && !set || value != nil && set && in.Value == *value {
			continue
		}
		values[key] = value
		delete(fresh.Set, key)
		if value != nil {
			fresh.Set[key] = chat.InSlack{Value: *value}
		}
	}
	return fresh, values
}

// readSetting is the value that somebody has typed for a key; nil stands for what the file says.
func readSetting(key, typed string) *string {
	typed = strings.Trim(strings.TrimSpace(slack.Unescape(typed)), "\"“”`")
	switch word := strings.ToLower(typed); {
	case word == byDefault, word == "":
		return nil
	case word == none && (key == "quiet_hours" || key == "tone"):
		typed = ""
	case key != "tone":
		typed = word
	}
	return &typed
}

// values are the values that hold in a channel by their keys, as people are shown them.
func (h *Handler) values(f config.ChannelFacts) map[string]string {
	all := map[string]string{}
	for _, s := range h.Config.Explain(f) {
		all[s.Key] = shownValue(s.Value)
	}
	return all
}

func shownValue(v string) string {
	if v == "" {
		return "`" + none + "`"
	}
	return "`" + quotedUpTo(v, maxTyped) + "`"
}

// settingsText lists what people may set in a channel, with what holds, since when, and by whom.
func (h *Handler) settingsText(r request, f config.ChannelFacts) string {
	zone, lines := h.Config.Channel(f).Zone, []string{}
	for _, s := range h.Config.Explain(f) {
		if slices.Contains(config.Settable(), s.Key) {
			lines = append(lines, fmt.Sprintf("• `%s`: %s – %s", s.Key, shownValue(s.Value), h.settingFrom(s, zone)))
		}
	}
	last := h.say("`%s settings mode mention` sets one, and `%s settings mode default` undoes that.", quoted(r.Name),
		quoted(r.Name))
	if h.Config.LockedIn(f) {
		last = h.say(lockedHere)
	}
	return strings.Join(append(lines, last), "\n")
}

// settingFrom says where a setting comes from.
func (h *Handler) settingFrom(s config.Setting, zone *time.Location) string {
	switch {
	case s.Before != nil:
		who := "`" + quoted(s.By) + "`"
		if user, ok := strings.CutPrefix(s.By, "slack:U"); ok {
			who = "<@U" + user + ">"
		}
		return h.say("set in Slack by %s, %s; before: %s", who, slackTime(s.At, zone), shownValue(*s.Before))
	case s.Line > 0:
		return h.say("by my configuration: `%s`", quotedUpTo(s.From, maxTyped))
	}
	return h.say("as I come")
}

// Undo undoes what an order has set of a channel, by the button that slack.ActionUndoSettings names. A second click,
// and one after another change, are told so.
func (h *Handler) Undo(ctx context.Context, b slack.BlockAction, own slack.Identity, outsider bool) (a slack.Answer,
	result string) {
	return h.in(ctx, own.TeamID, b.Channel).undo(ctx, b, own, outsider)
}

func (h *Handler) undo(ctx context.Context, b slack.BlockAction, own slack.Identity, outsider bool) (a slack.Answer,
	result string) {
	o, err := h.Store.SetBy(ctx, own.TeamID, b.Value)
	if errors.Is(err, store.ErrNotFound) {
		return slack.Answer{Text: h.say("I no longer know of this change, so nothing happens.")}, refused
	}
	c := chat.Conversation{Team: own.TeamID, Channel: o.Scope.Channel}
	r := request{Command: slack.Command{Request: b.Request}, own: own, conversation: c}
	if err != nil {
		a.Text, result = h.internalError(ctx, r, "settings", err)
		return a, result
	}
	f := h.Directory.Facts(ctx, c.Team, c.Channel)
	if refusal := h.refusesSet(ctx, b.User, outsider, f); refusal != "" {
		return slack.Answer{Text: refusal}, refused
	}
	undone, err := h.Store.UndoSet(ctx, o, r.by())
	switch {
	case errors.Is(err, store.ErrUndone):
		return slack.Answer{Text: h.say("This is undone already.")}, refused
	case errors.Is(err, store.ErrChanged):
		return slack.Answer{Text: h.say("This was set again since, so nothing happens.")}, refused
	case err != nil:
		a.Text, result = h.internalError(ctx, r, "settings", err)
		return a, result
	}
	now := h.values(h.Directory.Facts(ctx, c.Team, c.Channel))
	var lines []string
	for _, key := range undone {
		lines = append(lines, h.say("`%s` is %s here again.", key, now[key]))
	}
	return slack.Answer{Text: strings.Join(lines, "\n")}, done
}

// openSettings opens the form of a channel's settings for the viewer.
func (h *Home) openSettings(ctx context.Context, b slack.BlockAction, v Viewer, c *homeChannel) (notice slack.Answer,
	result string) {
	f := h.Directory.Facts(ctx, v.Own.TeamID, c.ID)
	if refusal := h.refusesSet(ctx, v.User, v.Outsider, f); refusal != "" {
		return slack.Answer{Text: h.channelLabel(c.Channel) + ": " + refusal}, refused
	}
	form := slack.Form{Callback: slack.ActionHomeSettings, Metadata: c.ID, Title: h.say("My settings"),
		Submit: h.say("Set"), Close: h.say("Leave as it is"), Text: "*" + h.channelLabel(c.Channel) + "*"}
	unset := f
	unset.Set = nil
	fromFile := map[string]string{}
	for _, s := range h.Config.Explain(unset) {
		fromFile[s.Key] = s.Value
	}
	for _, key := range config.Settable() {
		in, set := f.Set[key]
		field := slack.FormField{ID: key, Label: h.say(settingLabels[key]), Value: in.Value, MaxLength: maxTyped}
		if set && in.Value == "" {
			field.Value = none
		}
		asConfigured := h.say("as configured: %s", strings.ReplaceAll(shownValue(fromFile[key]), "`", ""))
		if choices := config.Choices(key); choices != nil {
			field.Options = []slack.FormOption{{Value: byDefault, Label: asConfigured}}
			for _, choice := range choices {
				field.Options = append(field.Options, slack.FormOption{Value: choice, Label: choice})
			}
			if !set {
				field.Value = byDefault
			}
		} else {
			field.Hint = h.say("empty: %s", asConfigured)
		}
		form.Fields = append(form.Fields, field)
	}
	if err := h.Publisher.OpenForm(ctx, b.Trigger, form); err != nil {
		notice.Text, result = h.internalError(ctx, request{Command: slack.Command{Request: b.Request}}, "settings", err)
		return notice, result
	}
	return slack.Answer{}, done
}

// maxTyped bounds what is typed into a field, in characters.
const maxTyped = 200

// settingLabels are what the form calls the settings.
var settingLabels = map[string]string{
	"mode":             "When I speak (mode)",
	"min_wait_seconds": "How many seconds of quiet I wait for (min_wait_seconds)",
	"quiet_hours":      "Quiet hours, as 22:00-07:00, or none (quiet_hours)",
	"remember":         "Where what I remember may be read (remember)",
	"language":         "My language (language)",
	"tone":             "How I sound, in a line, or none (tone)",
}

// Wrong says what is wrong with what was entered in the form of a channel's settings, by its fields.
func (h *Home) Wrong(ctx context.Context, s slack.ViewSubmission, own slack.Identity) map[string]string {
	fresh, _ := with(h.Directory.Facts(ctx, own.TeamID, s.Metadata), entered(s))
	var wrong *config.Error
	if !errors.As(h.Config.CheckSet(fresh), &wrong) {
		return nil
	}
	said := map[string]string{}
	for _, f := range wrong.Faults {
		if slices.Contains(config.Settable(), f.Key) { // Slack takes no other
			said[f.Key] = cmp.Or(said[f.Key], f.String())
		}
	}
	return said
}

func entered(s slack.ViewSubmission) map[string]string {
	typed := map[string]string{}
	for _, key := range config.Settable() {
		typed[key] = s.Value(key)
	}
	return typed
}

// Submit sets what the viewer has entered in the form of a channel's settings.
func (h *Home) Submit(ctx context.Context, s slack.ViewSubmission, v Viewer) (notice slack.Answer, result string) {
	watched, _, err := h.situation(ctx, v, 0)
	c := find(watched, s.Metadata)
	r := request{Command: slack.Command{Request: s.Request}, own: v.Own, button: &notice.Button,
		conversation: chat.Conversation{Team: v.Own.TeamID, Channel: s.Metadata}}
	switch {
	case err != nil:
		notice.Text, result = h.internalError(ctx, r, "settings", err)
		return notice, result
	case c == nil:
		return slack.Answer{Text: h.say("I no longer know of that channel, so nothing happens.")}, refused
	}
	f := h.Directory.Facts(ctx, v.Own.TeamID, c.ID)
	if notice.Text, result = h.refusesSet(ctx, v.User, v.Outsider, f), refused; notice.Text == "" {
		notice.Text, result = h.set(ctx, r, f, entered(s))
	}
	notice.Text = h.channelLabel(c.Channel) + ": " + notice.Text
	return notice, result
}
