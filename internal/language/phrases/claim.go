package phrases

import (
	"slices"
	"strings"

	"myao/internal/chat"
)

// claims are reactions by which people say that they see to something, or have done so.
var claims = []string{"eyes", "white_check_mark", "heavy_check_mark", "raised_hand", "raising_hand", "hand", "on_it",
	"ballot_box_with_check", "saluting_face", "対応中", "対応済み", "確認中"}

// Claims reports whether somebody else than the author has taken a message on.
func Claims(m chat.Message) bool {
	return slices.ContainsFunc(m.Reactions, func(r chat.Reaction) bool {
		name, _, _ := strings.Cut(r.Name, "::") // without the tone of the skin
		return r.UserID != m.UserID && slices.Contains(claims, strings.ReplaceAll(name, "-", "_"))
	})
}
