package inprocess

import (
	"context"
	"strings"
	"sync"

	"myao/internal/slack"
)

// Slack is one in memory that knows people and channels. Its threads are empty. It counts requests by id.
type Slack struct {
	Own      slack.Identity
	Names    map[string]string        // of people, by id; without it everybody has one
	Guests   map[string]bool          // by id
	Channels map[string]slack.Channel // which the bot is in
	In       map[string][]string      // the members of channels; without it they may not be asked for
	Err      error                    // of every request, if there is one

	mu         sync.Mutex
	asked      map[string]int
	noDeadline bool
}

// NewSlack makes one of the workspace T1.
func NewSlack(channels ...slack.Channel) *Slack {
	s := &Slack{
		Own:      slack.Identity{TeamID: "T1", UserID: "UBOT", BotID: "BBOT", Name: "myao"},
		Channels: map[string]slack.Channel{}, asked: map[string]int{},
	}
	s.Add(channels...)
	return s
}

// Add adds channels, or changes them.
func (s *Slack) Add(channels ...slack.Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range channels {
		c.Member = true
		s.Channels[c.ID] = c
	}
}

// Asked returns how often an id was asked for since the last call.
func (s *Slack) Asked(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer delete(s.asked, id)
	return s.asked[id]
}

// AskedForAll is Asked for all ids.
func (s *Slack) AskedForAll() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.asked {
		n += asked
	}
	clear(s.asked)
	return n
}

// NoDeadline reports whether a request came without a deadline.
func (s *Slack) NoDeadline() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noDeadline
}

// ask notes a request, and returns what it fails with. s is locked.
func (s *Slack) ask(ctx context.Context, id string) error {
	s.asked[id]++
	if _, ok := ctx.Deadline(); !ok {
		s.noDeadline = true
	}
	return s.Err
}

func unknown(method, code string) error {
	return &slack.Error{Method: method, Code: code, Kind: slack.Final}
}

// User returns somebody who has a name. The ids of bots begin with B.
func (s *Slack) User(ctx context.Context, id string) (slack.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ask(ctx, id); err != nil {
		return slack.User{}, err
	}
	name, ok := s.Names[id]
	switch {
	case s.Names == nil:
		name = "name of " + id
	case !ok:
		return slack.User{}, unknown("users.info", "user_not_found")
	}
	return slack.User{ID: id, Name: name, IsBot: strings.HasPrefix(id, "B"), Guest: s.Guests[id]}, nil
}

// Channel returns one of Channels.
func (s *Slack) Channel(ctx context.Context, id string) (slack.Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ask(ctx, id); err != nil {
		return slack.Channel{}, err
	}
	c, ok := s.Channels[id]
	if !ok {
		return slack.Channel{}, unknown("conversations.info", "channel_not_found")
	}
	return c, nil
}

// Members are asked for as "members of" the channel.
func (s *Slack) Members(ctx context.Context, channel, _ string) ([]string, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.ask(ctx, "members of "+channel)
	if err == nil && s.In == nil {
		err = unknown("conversations.members", "missing_scope")
	}
	return s.In[channel], "", err
}

// Replies returns an empty page.
func (*Slack) Replies(context.Context, string, string, slack.Range, slack.Identity) (slack.Page, error) {
	return slack.Page{}, nil
}
