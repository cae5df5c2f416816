package store

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"myao/internal/chat"
)

// erasedRow marks what is not stored again, whether Slack's history, an event or an order brings it: what a forgotten
// person had said by then, or with person empty what was in a purged channel by then. channel_id is empty for a person.
type erasedRow struct {
	TeamID    string `gorm:"primaryKey"`
	ChannelID string `gorm:"primaryKey"`
	Person    string `gorm:"primaryKey"`
	UntilUS   int64
}

func (erasedRow) TableName() string { return "erased" }

// PersonKey stands for a person where the id itself shall not be. Whoever has the id can compute it.
func PersonKey(p chat.Person) string {
	sum := sha256.Sum256([]byte(p.Team + "/" + p.User))
	return hex.EncodeToString(sum[:16])
}

// markErased writes a mark. A later one replaces an earlier one.
func markErased(tx *gorm.DB, row erasedRow) error {
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "team_id"}, {Name: "channel_id"}, {Name: "person"}},
		DoUpdates: clause.AssignmentColumns([]string{"until_us"}),
	}).Create(&row).Error
}

// erasures is what is not stored again of some messages of one channel.
type erasures struct {
	channel int64            // until when the channel was purged
	persons map[string]int64 // until when users were forgotten, by id
}

// mentionPattern matches the mention of a user, with or without a label.
var mentionPattern = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^<>]*)?>`)

// erasuresOf reads the marks that matter for messages read from the history of one channel.
func erasuresOf(tx *gorm.DB, read []chat.Message) (erasures, error) {
	users := map[string]string{} // by key
	for _, m := range read {
		users[PersonKey(chat.Person{Team: m.Team, User: m.UserID})] = m.UserID
		for _, mention := range mentionPattern.FindAllStringSubmatch(m.Text, -1) {
			users[PersonKey(chat.Person{Team: m.Team, User: mention[1]})] = mention[1]
		}
	}
	var rows []erasedRow
	e := erasures{persons: map[string]int64{}}
	keys := append(slices.Collect(maps.Keys(users)), "")
	if err := tx.Where("team_id = ? AND channel_id IN ? AND person IN ?", read[0].Team, []string{"", read[0].Channel},
		keys).Find(&rows).Error; err != nil {
		return e, err
	}
	for _, r := range rows {
		if r.ChannelID != "" {
			e.channel = r.UntilUS
		} else if user, ok := users[r.Person]; ok {
			e.persons[user] = r.UntilUS
		}
	}
	return e, nil
}

// storable returns the message as it may be stored, without mentions of those who were forgotten
// since. It returns false if nothing of it may be.
func (e erasures) storable(m chat.Message) (chat.Message, bool) {
	sent := micros(m.Time())
	if sent <= e.channel || sent <= e.persons[m.UserID] {
		return m, false
	}
	for user, until := range e.persons {
		if sent <= until {
			m.Text = withoutUser(m.Text, user)
		}
	}
	return m, true
}
