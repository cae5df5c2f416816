package chatops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"myao/internal/answer/playbook"
	"myao/internal/chat"
	"myao/internal/config"
	"myao/internal/language/words"
	"myao/internal/operate/choice"
	"myao/internal/runtime/required"
	"myao/internal/slack"
	"myao/internal/slack/channels"
	"myao/internal/store"
)

const (
	// maxWatched bounds the channels that are read for the Home tab, and maxHomeChannels those that are
	// shown with buttons.
	maxWatched      = 2000
	maxHomeChannels = 15
	// maxHomeLines bounds how much of one kind is listed, and maxHomeNote how much of a note or promise is shown,
	// in characters.
	maxHomeLines = 15
	maxHomeNote  = 150
	// maxHomeRows is how many promises, proposals and conversations are read and counted, of the channels that the
	// viewer may know of.
	maxHomeRows = 100
	// homeTemporalTimeout is how long Temporal may take to say what waits.
	homeTemporalTimeout = 3 * time.Second
)

// Viewer is who looks at the Home tab.
type Viewer struct {
	User string
	Own  slack.Identity
	// Outsider is set for a guest, and for somebody of another company.
	Outsider bool
}

// HomePublisher shows a person their Home tab, and forms.
type HomePublisher interface {
	PublishHome(ctx context.Context, user string, sections []slack.HomeSection) error
	OpenForm(ctx context.Context, trigger string, f slack.Form) error
}

// Home is the Home tab: what the slash command tells about one channel, for all channels that the viewer
// may know of. Create one with NewHome.
type Home struct {
	*Handler
	Publisher HomePublisher
	// Lost are the installations whose tokens are lost, of which operators are told, and InstallAt is where somebody
	// installs the app again. Lost is nil in a workspace whose operators have nothing to do with others.
	Lost      func() []store.Installation `nil:"ok"`
	InstallAt string
	// Playbooks are those of the operator; nil: there are none.
	Playbooks *playbook.Dir `nil:"ok"`
}

// NewHome returns a home that has all it needs. It panics with the name of a field that is missing.
func NewHome(h *Home) *Home { return required.Fields(h) }

// homeChannel is a channel as the Home tab shows it.
type homeChannel struct {
	store.Channel
	settings config.ChannelSettings
	until    time.Time // of its silence
	waiting  bool
	settable bool // by the viewer, if they have the permission
}

// Publish shows the viewer their Home tab as of now. notice stands at the top; it may be empty.
func (h *Home) Publish(ctx context.Context, v Viewer, notice slack.Answer) error {
	sections, err := h.sections(ctx, v)
	if err != nil {
		return fmt.Errorf("build the home tab: %w", err)
	}
	if notice.Text != "" {
		top := slack.HomeSection{Text: notice.Text}
		if notice.Button != (slack.HomeButton{}) {
			top.Buttons = []slack.HomeButton{notice.Button}
		}
		sections = slices.Insert(sections, 0, top)
	}
	if err := h.Publisher.PublishHome(ctx, v.User, sections); err != nil {
		return fmt.Errorf("publish the home tab: %w", err)
	}
	return nil
}

func (h *Home) sections(ctx context.Context, v Viewer) ([]slack.HomeSection, error) {
	sections := []slack.HomeSection{{Title: h.Config.Persona.Name, Text: h.greeting(v.Own)}}
	if lost := h.lost(v); lost.Text != "" {
		sections = append(sections, lost)
	}
	if h.may(v, config.MayStatus) {
		shown, err := h.known(ctx, v)
		if err != nil {
			return nil, err
		}
		sections = append(sections, shown...)
	}
	return append(sections, h.help(v)), nil
}

// lost is the section of installations whose tokens are lost. It stands in another workspace: their own shows nothing
// any more.
func (h *Home) lost(v Viewer) slack.HomeSection {
	if h.Lost == nil || !h.Config.Slack.IsOperator(v.User) {
		return slack.HomeSection{}
	}
	var lines []string
	for _, i := range h.Lost() {
		lines = append(lines, "• "+h.say("Slack no longer takes my token of %s. Have somebody there install me again: %s",
			shortened(strings.TrimSpace(i.ID+" "+i.Name)), h.InstallAt))
	}
	return slack.HomeSection{Title: h.say("Where my token was lost"), Text: h.list(lines)}
}

// known are the sections about the channels that the viewer may know of.
func (h *Home) known(ctx context.Context, v Viewer) ([]slack.HomeSection, error) {
	watched, now, err := h.situation(ctx, v, maxHomeRows)
	if err != nil {
		return nil, err
	}
	notes, err := h.homeNotes(ctx, v, watched)
	if err != nil {
		return nil, err
	}
	sections := []slack.HomeSection{
		{Text: h.mutedText(now.Muted, h.Config.Slack.Command, h.Config.Location())},
		h.addWaiting(ctx, v, watched, now.Silences), h.promised(v, watched, now.Promises),
		h.proposed(v, watched, now.Proposals), notes,
	}
	sections = append(sections, h.channelSections(v, watched)...)
	return slices.DeleteFunc(sections, func(s slack.HomeSection) bool { return s.Text == "" }), nil
}

// situation is what the database knows of the channels that the viewer may know of, and those channels, with their
// settings and silences. limit is how many promises, and how many proposals, are read.
func (h *Home) situation(ctx context.Context, v Viewer, limit int) ([]homeChannel, store.Situation, error) {
	in := h.Members.Of(ctx, v.User)
	rows, err := h.Store.Watched(ctx, v.Own.TeamID, in, !v.Outsider, maxWatched)
	if err != nil {
		return nil, store.Situation{}, err
	}
	watched := make([]homeChannel, len(rows))
	for i, c := range rows {
		watched[i].Channel = c
	}
	sets, err := h.Store.SetIn(ctx, v.Own.TeamID, idsOf(watched)...)
	if err != nil {
		return nil, store.Situation{}, err
	}
	places := []chat.Conversation{{Team: v.Own.TeamID}} // the workspace's silence counts without any channel, too
	for i, c := range rows {
		f := channels.SettingsFacts(c)
		f.Set = sets[c.ID]
		watched[i].settings = h.Config.Channel(f)
		watched[i].settable = slices.Contains(in, c.ID) && !h.Config.LockedIn(f)
		places = append(places, chat.Conversation{Team: v.Own.TeamID, Channel: c.ID})
	}
	open := store.ChoiceFilter{Team: v.Own.TeamID, Channels: idsOf(watched), Limit: limit}
	if v.Outsider && !h.Config.Slack.IsOperator(v.User) {
		open.Asker = v.User // which is what outsiders may see in every channel (forOutsider)
	}
	now, err := h.Store.Situation(ctx, store.SituationRequest{Now: h.Clock(), Conversations: places, Open: open})
	for i := range watched {
		watched[i].until = now.Silences[places[i+1].ID()]
	}
	return watched, now, err
}

// find returns the channel with an id; nil if the viewer may not know of it.
func find(watched []homeChannel, id string) *homeChannel {
	if i := slices.IndexFunc(watched, func(c homeChannel) bool { return c.ID == id }); i >= 0 {
		return &watched[i]
	}
	return nil
}

// idsOf is the ids of channels, and never nil.
func idsOf(watched []homeChannel) []string {
	ids := make([]string, len(watched))
	for i, c := range watched {
		ids[i] = c.ID
	}
	return ids
}

// addWaiting asks Temporal what waits, marks the channels, and returns the section that lists it.
func (h *Home) addWaiting(
	ctx context.Context, v Viewer, watched []homeChannel, silences store.Silences,
) slack.HomeSection {
	ctx, cancel := context.WithTimeout(ctx, homeTemporalTimeout)
	defer cancel()
	all, problem := h.waiting(ctx, v.Own.TeamID, idsOf(watched), maxHomeRows)
	var lines []string
	for _, l := range all {
		if c := find(watched, l.Conversation.Channel); c != nil {
			c.waiting = true
			lines = append(lines, h.line(v, c, l.Conversation, h.phaseText(l, silences, c.settings.Zone)))
		}
	}
	section := slack.HomeSection{Title: h.say("What is waiting"), Text: cmp.Or(problem, h.list(lines))}
	if section.Text == "" {
		section.Text = h.say("Nothing is waiting.")
	}
	return section
}

// proposed is the section of proposals that may still come to something, without their inputs.
func (h *Home) proposed(v Viewer, watched []homeChannel, all []store.Proposal) slack.HomeSection {
	var lines []string
	for _, p := range all {
		if c := find(watched, p.ChannelID); c != nil {
			lines = append(lines, h.line(v, c, p.Conversation(), h.proposalText(p, c.settings.Zone)))
		}
	}
	return slack.HomeSection{Title: h.say("What I propose"), Text: h.list(lines)}
}

// promised is the section of open promises, those due first.
func (h *Home) promised(v Viewer, watched []homeChannel, all []store.Promise) slack.HomeSection {
	var lines []string
	for _, p := range all {
		if c := find(watched, p.ChannelID); c != nil {
			lines = append(lines, h.line(v, c, p.Conversation(), fmt.Sprintf("%s – %s (<@%s>)",
				choice.WaitsFor(words.In(h.Config.Language), p, slackTime(p.Due(), c.settings.Zone))+
					h.heldText(p, c.settings.Zone), shortened(p.What), p.Asker)))
		}
	}
	return slack.HomeSection{Title: h.say("What I have promised"), Text: h.list(lines)}
}

// homeNotes is the section of what people asked the bot to remember.
func (h *Home) homeNotes(ctx context.Context, v Viewer, watched []homeChannel) (slack.HomeSection, error) {
	if !h.may(v, config.MayNotes) {
		return slack.HomeSection{}, nil
	}
	notes, in, err := h.Store.NewestNotes(ctx, v.Own.TeamID, idsOf(watched), maxHomeLines+1)
	if err != nil {
		return slack.HomeSection{}, err
	}
	var lines []string
	for i, n := range notes {
		lines = append(lines, fmt.Sprintf("• %s: %s – <@%s>", h.channelLabel(find(watched, in[i]).Channel),
			shortened(n.Text), n.Author))
	}
	section := slack.HomeSection{Title: h.say("What people asked me to remember"), Text: h.list(lines)}
	if len(lines) > 0 {
		section.Text += "\n" + h.say("In a channel, `%s notes` lists its notes and takes them back.",
			quoted(h.Config.Slack.Command))
	}
	return section, nil
}

// channelSections list the channels. Those where the bot is silent or something waits come first.
func (h *Home) channelSections(v Viewer, watched []homeChannel) []slack.HomeSection {
	if len(watched) == 0 {
		return []slack.HomeSection{{Title: h.say("Where I read along"),
			Text: h.say("I am in no channel that you can see. `/invite` me to one.")}}
	}
	slices.SortStableFunc(watched, func(a, b homeChannel) int { return b.rank() - a.rank() })
	sections := []slack.HomeSection{}
	for _, c := range watched[:min(len(watched), maxHomeChannels)] {
		sections = append(sections, slack.HomeSection{Text: "*" + h.channelLabel(c.Channel) + "* – " + h.stateText(c),
			Buttons: h.buttons(v, c)})
	}
	sections[0].Title = h.say("Where I read along")
	if rest := watched[len(sections):]; len(rest) > 0 {
		var names []string
		for _, c := range rest[:min(len(rest), maxHomeLines)] {
			names = append(names, h.channelLabel(c.Channel))
		}
		text := h.say("Also in: %s", strings.Join(names, ", "))
		if more := len(rest) - len(names); more > 0 {
			text += " " + h.say("and %d more", more)
		}
		sections = append(sections, slack.HomeSection{Text: text})
	}
	return sections
}

func (c homeChannel) rank() int {
	switch {
	case !c.until.IsZero():
		return 2
	case c.waiting:
		return 1
	}
	return 0
}

// stateText tells whether the bot speaks in a channel.
func (h *Home) stateText(c homeChannel) string {
	if text := h.unheard(c.settings); c.settings.Mode == config.ModeOff {
		return text
	}
	if text := h.silenceText(c.until, h.Clock(), c.settings.Zone); text != "" {
		return text
	}
	switch c.settings.Mode {
	case config.ModeMention:
		return h.say("I answer when I am mentioned.")
	case config.ModeAll:
		return h.say("I answer every message.")
	}
	if (chat.Conversation{Channel: c.ID}).Direct() {
		return h.say("I answer every message.")
	}
	return h.say("I answer when I am mentioned, and when a question stays open.")
}

// buttons are what the viewer may do about the silence of a channel.
func (h *Home) buttons(v Viewer, c homeChannel) (buttons []slack.HomeButton) {
	add := func(p config.Permission, action, label string) {
		if h.may(v, p) {
			buttons = append(buttons, slack.HomeButton{Action: action, Value: c.ID, Label: h.say(label)})
		}
	}
	switch {
	case c.settings.Mode == config.ModeOff:
	case !c.until.IsZero():
		add(config.MayMute, slack.ActionHomeUnmute, "Let me speak again")
	default:
		add(config.MaySnooze, slack.ActionHomeSnooze, "Be silent for an hour")
		add(config.MayMute, slack.ActionHomeMute, "Mute me")
	}
	if c.settable {
		add(config.MaySettings, slack.ActionHomeSettings, "Settings")
	}
	return buttons
}

// line is one entry of a list: a place, and what is to be said about it.
func (h *Home) line(v Viewer, c *homeChannel, in chat.Conversation, what string) string {
	where := h.channelLabel(c.Channel)
	if !in.TopLevel() {
		where += ", " + h.conversationLabel(in, v.Own.URL, c.settings.Zone)
	}
	return "• " + where + ": " + what
}

// list joins lines, and says how many are left out.
func (h *Home) list(lines []string) string {
	if more := len(lines) - maxHomeLines; more > 0 {
		lines = append(lines[:maxHomeLines:maxHomeLines], h.say("… and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// channelLabel names a channel and links to it.
func (h *Home) channelLabel(c store.Channel) string {
	switch {
	case (chat.Conversation{Channel: c.ID}).Direct():
		return h.say("Direct message")
	case strings.HasPrefix(c.Name, "mpdm-"):
		return h.say("Group message")
	}
	return "<#" + c.ID + "|" + strings.ReplaceAll(slack.Escape(c.Name), "|", "") + ">"
}

// shortened is the beginning of a text on one line, escaped.
func shortened(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxHomeNote {
		r = append(r[:maxHomeNote:maxHomeNote], '…')
	}
	return slack.Escape(string(r))
}

func (h *Home) may(v Viewer, p config.Permission) bool {
	return h.Config.Slack.May(v.User, v.Outsider, p)
}
