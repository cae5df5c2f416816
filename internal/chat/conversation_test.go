package chat

import "testing"

func TestConversationID(t *testing.T) {
	t.Parallel()
	for id, c := range map[string]Conversation{
		"channel/T1/C1":                  {Team: "T1", Channel: "C1"},
		"channel/T1/D1":                  {Team: "T1", Channel: "D1"},
		"thread/T1/C1/1699999999.000100": {Team: "T1", Channel: "C1", Thread: "1699999999.000100"},
	} {
		if got := c.ID(); got != id {
			t.Errorf("%+v: ID = %q, want %q", c, got, id)
		}
		if got, err := ParseConversation(id); err != nil || got != c {
			t.Errorf("ParseConversation(%q) = %+v, %v", id, got, err)
		}
		if got, want := c.TopLevel(), c.Thread == ""; got != want {
			t.Errorf("%s: TopLevel = %v", id, got)
		}
		if top := c.Top(); !top.TopLevel() || top.Team != c.Team || top.Channel != c.Channel {
			t.Errorf("%s: Top = %+v", id, top)
		}
		if got, want := c.Direct(), id == "channel/T1/D1"; got != want {
			t.Errorf("%s: Direct = %v", id, got)
		}
	}
}

func TestParseConversationRefuses(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", "/", "channel", "channel/T1", "channel/T1/", "channel//C1", "channel/T1/C1/", "channel/T1/C1/1.0",
		"thread/T1/C1", "thread/T1/C1/", "thread//C1/1.0", "thread/T1//1.0", "thread/T1/C1/1.0/x", "memory", "Channel/T1/C1", "/channel/T1/C1",
	} {
		if got, err := ParseConversation(id); err == nil {
			t.Errorf("ParseConversation(%q) = %+v, want an error", id, got)
		} else if got != (Conversation{}) {
			t.Errorf("ParseConversation(%q) = %+v with an error", id, got)
		}
	}
}

func FuzzParseConversation(f *testing.F) {
	for _, id := range []string{"channel/T1/C1", "thread/T1/C1/1.0", "thread///", "channel/a/b/c"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if c, err := ParseConversation(id); err == nil && c.ID() != id {
			t.Fatalf("%q is read as %+v, whose id is %q", id, c, c.ID())
		}
	})
}
