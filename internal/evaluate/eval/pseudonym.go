package eval

import (
	"math/rand/v2"
	"strconv"
)

// pseudonyms stand for people, apps, channels and groups, for each the same throughout an export. They are drawn at
// random, so that nothing about whom they stand for follows from them.
type pseudonyms struct {
	words []string // in random order; the first of them have been drawn
	drawn int
	known map[string]pseudonym // by kind and by what it stands for
	count map[kind]int
}

// kind is of what a pseudonym stands for, and the letter that its id begins with.
type kind string

const (
	aPerson  kind = "U"
	anApp    kind = "A"
	aChannel kind = "C"
	aGroup   kind = "S"
)

type pseudonym struct{ id, name string }

// animals are words that are nobody's name in most workspaces.
var animals = []string{
	"Alpaca", "Badger", "Beaver", "Bison", "Buffalo", "Caribou", "Cheetah", "Chinchilla", "Cormorant", "Coyote",
	"Cricket", "Curlew", "Dingo", "Dolphin",
	"Dormouse", "Egret", "Ermine", "Ferret", "Flamingo", "Gazelle", "Gecko", "Gibbon", "Grouse", "Hamster", "Hedgehog",
	"Heron", "Ibex", "Iguana", "Impala",
	"Jackal", "Jaguar", "Kestrel", "Lemming", "Lemur", "Lobster", "Lynx", "Mallard", "Manatee", "Marmot", "Meerkat",
	"Mongoose", "Narwhal", "Ocelot", "Otter",
	"Pelican", "Penguin", "Plover", "Porcupine", "Puffin", "Quail", "Raccoon", "Reindeer", "Salamander", "Sandpiper",
	"Sparrow", "Squirrel", "Stoat", "Tapir",
	"Toucan", "Walrus", "Warbler", "Weasel", "Wombat", "Zebra",
}

// newPseudonyms draws no word that taken refuses.
func newPseudonyms(r *rand.Rand, taken func(word string) bool) *pseudonyms {
	p := &pseudonyms{known: map[string]pseudonym{}, count: map[kind]int{}}
	for _, i := range r.Perm(len(animals)) {
		if !taken(animals[i]) {
			p.words = append(p.words, animals[i])
		}
	}
	return p
}

// of is the pseudonym of what a kind and a key identify.
func (p *pseudonyms) of(k kind, key string) pseudonym {
	known, ok := p.known[string(k)+key]
	if ok {
		return known
	}
	p.count[k]++
	n := strconv.Itoa(p.count[k])
	out := pseudonym{id: string(k) + n}
	switch k {
	case aChannel:
		out.name = "channel-" + n
	case aGroup:
		out.name = "group-" + n
	case anApp:
		out.name = p.word() + "-bot"
	default:
		out.name = p.word()
	}
	p.known[string(k)+key] = out
	return out
}

// word draws the next word. When all are drawn, they are drawn again with a number.
func (p *pseudonyms) word() string {
	if len(p.words) == 0 {
		p.words = []string{"Member"}
	}
	word, round := p.words[p.drawn%len(p.words)], p.drawn/len(p.words)
	p.drawn++
	if round > 0 {
		word += strconv.Itoa(round + 1)
	}
	return word
}
