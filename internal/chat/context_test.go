package chat

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func message(ts, thread, text string) Message {
	return Message{Team: "T1", Channel: "C1", TS: ts, ThreadTS: thread, Text: text}
}

func texts(messages []Message) []string {
	var s []string
	for _, m := range messages {
		s = append(s, m.Text)
	}
	return s
}

// channel is two threads and the messages around them.
var channel = []Message{
	message("1000.000000", "", "a"),
	message("1010.000000", "1010.000000", "b, parent"), // Slack gives a parent its own ts once it has replies
	message("1020.000000", "1010.000000", "b1"),
	message("1030.000000", "", "c, parent"),
	message("1040.000000", "1030.000000", "c1"),
	message("1050.000000", "1010.000000", "b2"),
	message("1060.000000", "500.000000", "reply to an unknown parent"),
	message("999.000000", "", "before, though not by letters"),
}

func TestNewChannelMessages(t *testing.T) {
	t.Parallel()
	c := NewChannelMessages("C1", "general", channel)
	if c.ChannelID != "C1" || c.ChannelName != "general" || c.Omitted != 0 {
		t.Errorf("got %q, %q, %d omitted", c.ChannelID, c.ChannelName, c.Omitted)
	}
	for _, tt := range []struct {
		what      string
		got, want []string
	}{
		{"top level", texts(c.TopLevel), []string{"before, though not by letters", "a", "b, parent", "c, parent"}},
		{"thread b", texts(c.Thread("1010.000000")), []string{"b, parent", "b1", "b2"}},
		{"replies of b", texts(c.Threads["1010.000000"]), []string{"b1", "b2"}},
		{"thread c", texts(c.Thread("1030.000000")), []string{"c, parent", "c1"}},
		{"a thread without replies", texts(c.Thread("1000.000000")), []string{"a"}},
		{"a thread without its parent", texts(c.Thread("500.000000")), []string{"reply to an unknown parent"}},
		{"no thread", texts(c.Thread("1.000000")), nil},
		{"no thread ts", texts(c.Thread("")), nil},
		{"all", texts(c.All()), []string{
			"before, though not by letters", "a", "b, parent", "b1", "c, parent", "c1", "b2", "reply to an unknown parent",
		}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	if len(c.All()) != len(channel) || c.TotalMessages() != len(channel) || c.ThreadCount() != 3 {
		t.Errorf("%d messages, counted as %d, in %d threads; want %d in 3", len(c.All()), c.TotalMessages(), c.ThreadCount(), len(channel))
	}
}

func TestNewChannelMessagesInAnyOrder(t *testing.T) {
	t.Parallel()
	want := NewChannelMessages("C1", "general", channel)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		in := slices.Concat(channel, channel[:r.IntN(len(channel))]) // some messages twice
		r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		before := slices.Clone(in)
		if got := NewChannelMessages("C1", "general", in); !reflect.DeepEqual(got, want) {
			t.Fatalf("from %q:\n got %q\nwant %q", texts(in), texts(got.All()), texts(want.All()))
		}
		if !reflect.DeepEqual(in, before) {
			t.Fatal("the input was changed")
		}
	}
}

func TestNewChannelMessagesKeepsTheLastPerTS(t *testing.T) {
	t.Parallel()
	c := NewChannelMessages("C1", "", []Message{message("1.000000", "", "old"), message("1.000000", "", "new")})
	if got := texts(c.All()); !slices.Equal(got, []string{"new"}) {
		t.Errorf("got %q", got)
	}
}

func TestAllDoesNotModifyMessages(t *testing.T) {
	t.Parallel()
	c := NewChannelMessages("C1", "", channel)
	all := c.All()
	for i := range all {
		all[i].Text = "x"
	}
	thread := c.Thread("1010.000000")
	thread = append(thread, message("9999.000000", "", "y"))
	for i := range thread {
		thread[i].Text = "x"
	}
	if got := c; !reflect.DeepEqual(got, NewChannelMessages("C1", "", channel)) {
		t.Errorf("what was done to a result is seen in the value: %q", texts(got.All()))
	}
}

func TestNoMessages(t *testing.T) {
	t.Parallel()
	c := NewChannelMessages("C1", "", nil)
	if len(c.All()) != 0 || len(c.Threads) != 0 || len(c.Thread("1.000000")) != 0 {
		t.Errorf("got %+v", c)
	}
	var zero ChannelMessages
	if zero.TotalMessages()+zero.ThreadCount() != 0 || len(zero.All()) != 0 || len(zero.Thread("1.000000")) != 0 {
		t.Error("the zero value is not empty")
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	c := Context{Conversation: NewChannelMessages("C1", "", channel)}
	if got := texts(c.Target()); !slices.Equal(got, texts(c.Conversation.TopLevel)) {
		t.Errorf("at the top level: %q", got)
	}
	c.TargetThread = "1010.000000"
	if got := texts(c.Target()); !slices.Equal(got, []string{"b, parent", "b1", "b2"}) {
		t.Errorf("in a thread: %q", got)
	}
	c.TargetThread = "1.000000"
	if got := c.Target(); len(got) != 0 {
		t.Errorf("in an unknown thread: %q", texts(got))
	}
}
