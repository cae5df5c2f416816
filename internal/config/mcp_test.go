package config_test

import (
	"testing"

	"myao/internal/config"
)

func TestWhereAServerMayBeUsed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		channels config.Places
		of       config.ChannelFacts
		want     bool
	}{
		{nil, config.ChannelFacts{ID: "C1", Name: "general"}, false},
		{config.Places{"all"}, config.ChannelFacts{ID: "D1"}, true},
		{config.Places{"#all"}, config.ChannelFacts{ID: "C1", Name: "general"}, false},
		{config.Places{"#all"}, config.ChannelFacts{ID: "C2", Name: "all"}, true},
		{config.Places{"#General"}, config.ChannelFacts{ID: "C1", Name: "general"}, true},
		{config.Places{"C0123456789"}, config.ChannelFacts{ID: "C0123456789", Name: "general"}, true},
		{config.Places{""}, config.ChannelFacts{ID: "D1"}, false},
	} {
		if got := (config.MCPServer{Channels: test.channels}).In(test.of); got != test.want {
			t.Errorf("channels %q: in %+v: %v", test.channels, test.of, got)
		}
	}
}
