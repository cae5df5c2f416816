package agents

import (
	"crypto/sha256"
	"encoding/binary"
)

// Sampled reports whether a judgment is among the share, 0 to 1, that other judges see. It depends on the
// decision's key alone, so that a repeated activity and another worker say the same.
func Sampled(decision string, share float64) bool {
	sum := sha256.Sum256([]byte("shadow/" + decision))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) < share
}
