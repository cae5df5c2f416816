package chat

// Withheld names the channels that keep their memories to themselves. The zero value withholds none.
type Withheld struct {
	// Inside are the channels whose memories do not leave them. Nowhere are those of them that are
	// not remembered at all.
	Inside, Nowhere ChannelKeys
	// IDs are the channels that the keys' names do not mean, because they have settings under their
	// ids.
	IDs []string

	// InsideTeams are workspaces whose channels are Inside, NowhereTeams those of them whose channels are Nowhere,
	// except for the channels of Exempt, which say it themselves.
	InsideTeams, NowhereTeams []string
	Exempt                    ChannelKeys

	Locks Locks
}

// Locks says where nothing can be set in Slack. What a channel says wins over what its workspace says, and that over
// All.
type Locks struct {
	All          bool
	Locked, Free Places
}

// Places are some workspaces and some channels.
type Places struct {
	Teams    []string
	Channels ChannelKeys
}

// Of is the places that say whether they are locked.
func (l *Locks) Of(locked bool) *Places {
	if locked {
		return &l.Locked
	}
	return &l.Free
}

// ChannelKeys means channels by their ids and by their names, without "#".
type ChannelKeys struct{ IDs, Names []string }

// Add adds a key.
func (k *ChannelKeys) Add(key string, isID bool) {
	if isID {
		k.IDs = append(k.IDs, key)
	} else {
		k.Names = append(k.Names, key)
	}
}
