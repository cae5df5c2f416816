package config

import (
	"net/netip"
	"slices"
	"time"

	"myao/internal/chat"
)

// Tools is what a reply may look up before it is written.
type Tools struct {
	// Enabled are the names of the tools that a model is offered.
	Enabled []string `yaml:"enabled"`
	// MaxRounds is how often, for one reply, a model may ask for tools.
	MaxRounds int `yaml:"max_rounds"`
	// MaxCalls limits the calls of all rounds.
	MaxCalls int `yaml:"max_calls"`
	// MaxSeconds is the time after the first round from which on no further one begins, in seconds.
	MaxSeconds int `yaml:"max_seconds"`
	// MaxResultChars limits the result of one call, MaxTotalChars those of all calls, in characters.
	MaxResultChars int `yaml:"max_result_chars"`
	MaxTotalChars  int `yaml:"max_total_chars"`
	// ApprovalHours is how long people have to decide about what a reply proposes.
	ApprovalHours int `yaml:"approval_hours"`
	// DenyAddresses are public addresses and networks that open_link does not connect to. Others than public ones
	// are refused anyway.
	DenyAddresses []string `yaml:"deny_addresses"`
	// PostTo are the channels to which post_message may post, by id or name, or PostMembers. Empty is none.
	PostTo Places `yaml:"post_to"`
}

// PostMembers stands in Tools.PostTo for every channel in which both whoever asks and the bot are, and for the people
// of the workspace.
const PostMembers = "members"

// PostsAnywhere reports whether post_message may post from any channel.
func (c Config) PostsAnywhere() bool {
	return slices.Contains(c.Tools.Enabled, chat.ToolPostMessage) && len(c.PostPlaces()) > 0
}

// PostPlaces are all places to which something may be posted from some channel.
func (c Config) PostPlaces() Places {
	all := slices.Concat(c.Tools.PostTo, c.channelDefaults.PostTo)
	for _, ch := range c.Channels {
		all = append(all, ch.PostTo...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Denied is DenyAddresses as networks.
func (t Tools) Denied() []netip.Prefix {
	denied := make([]netip.Prefix, 0, len(t.DenyAddresses))
	for _, a := range t.DenyAddresses {
		if network, err := parseNetwork(a); err == nil { // which the rules have made sure of
			denied = append(denied, network)
		}
	}
	return denied
}

// parseNetwork reads an IP address, or a network in CIDR notation.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	network, err := netip.ParsePrefix(s)
	return network.Masked(), err
}

// cloudAddresses are where clouds serve their machines: metadata, keys and consoles. Most lie outside of the public
// ranges, and are refused anyway; they stand here for whoever looks for them.
func cloudAddresses() []string {
	return []string{
		"168.63.129.16",   // Azure
		"100.100.100.200", // Alibaba Cloud
		"192.0.0.192",     // Oracle Cloud
		"fd00:ec2::254",   // AWS
		"fd20:ce::254",    // Google Cloud
		"161.26.0.0/16",   // IBM Cloud
		"166.8.0.0/14",    // IBM Cloud
	}
}

// Approval is ApprovalHours as a duration.
func (t Tools) Approval() time.Duration { return hours(t.ApprovalHours) }

// Longest is MaxSeconds as a duration.
func (t Tools) Longest() time.Duration { return seconds(t.MaxSeconds) }
