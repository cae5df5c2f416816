package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"myao/internal/chat"
)

// Cursor describes the messages that a scope's memories were made of. An equal cursor means that
// there is nothing new.
//
// It changes with every new and every deleted message, and with every edit newer than those before.
// It misses changes that cancel each other out: one message deleted, while another, not the newest,
// arrives late.
type Cursor struct {
	// Since is the time from which messages are counted; zero counts all.
	Since time.Time
	// Newest is when the newest message was sent; zero if there is none. For the workspace it is
	// when the newest current memory of a public channel was made.
	Newest time.Time
	// Revision is the ts of the newest edit; for the workspace it says which channels were withheld.
	Revision string
	Count    int
	// Ordered is when somebody last had something forgotten that the memories may contain, or made
	// an old version current again; zero for never. It tells a run that began before such an order
	// from one that began after it.
	Ordered time.Time
}

func (r scopeRow) cursor() Cursor {
	return Cursor{Since: instantOrZero(r.SinceUS), Newest: instantOrZero(r.NewestUS), Revision: r.Revision,
		Count: r.Count}
}

// asStored is the cursor as the database returns it with its scope.
func (c Cursor) asStored() Cursor {
	c.Since, c.Newest, c.Ordered = instantOrZero(microsOrZero(c.Since)), instantOrZero(microsOrZero(c.Newest)),
		time.Time{}
	return c
}

// key is the cursor as a string.
func (c Cursor) key() string {
	key := fmt.Sprintf("%d/%d/%s/%d", microsOrZero(c.Since), microsOrZero(c.Newest), c.Revision, c.Count)
	if !c.Ordered.IsZero() {
		key += fmt.Sprintf("/%d", microsOrZero(c.Ordered))
	}
	return key
}

// cursorColumns selects a cursor of some messages, without Since.
const cursorColumns = "SELECT COUNT(*) AS count, COALESCE(MAX(sent_us), 0) AS newest_us, COALESCE(MAX(revision), '') " +
	"AS revision FROM "

// The cursors of a channel, and of a thread with its parent. The names in braces are replaced by a
// column or a question mark.
const (
	channelCursor = cursorColumns + `messages
		WHERE team_id = {team} AND channel_id = {channel} AND sent_us >= {since} AND NOT deleted`
	threadCursor = cursorColumns + `(
		SELECT sent_us, revision FROM messages
		WHERE team_id = {team} AND channel_id = {channel} AND thread_ts = {thread} AND NOT deleted
		UNION ALL SELECT sent_us, revision FROM messages
		WHERE team_id = {team} AND channel_id = {channel} AND ts = {thread} AND NOT deleted) found`
)

// savedCursor is the columns of the cursor that was saved with a scope's memories; empty values for
// a scope without memories.
func savedCursor(scope string) string {
	return strings.ReplaceAll("(COALESCE({s}.count, 0), COALESCE({s}.newest_us, 0), COALESCE({s}.revision, ''))", "{s}",
		scope)
}

// CurrentCursor is a scope's cursor as of now, with messages counted from since. A thread is always
// counted whole; the workspace ignores since.
func (s *Store) CurrentCursor(ctx context.Context, scope chat.Scope, since time.Time) (Cursor, error) {
	db := s.db.WithContext(ctx)
	var query *gorm.DB
	var from int64
	switch {
	case scope.Workspace():
		query = db.Raw(`
			SELECT COUNT(*) AS count, COALESCE(MAX(m.made_us), 0) AS newest_us
			FROM channels c JOIN memory_scopes s ON s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = ''
			JOIN memories m ON m.id IN (s.long_id, s.short_id)
			WHERE c.team_id = ? AND `+joined+` AND ? AND NOT ?`, scope.Team, seenFrom(scope.Team, ""), s.withheldFrom(""))
	case scope.Thread != "":
		query = db.Raw(strings.NewReplacer("{team}", "?", "{channel}", "?", "{thread}", "?").Replace(threadCursor),
			scope.Team, scope.Channel, scope.Thread, scope.Team, scope.Channel, scope.Thread)
	default:
		from = microsOrZero(since)
		query = db.Raw(strings.NewReplacer("{team}", "?", "{channel}", "?", "{since}", "?").Replace(channelCursor),
			scope.Team, scope.Channel, from)
	}
	var row scopeRow
	err := query.Scan(&row).Error
	if err != nil {
		return Cursor{}, fmt.Errorf("read cursor of %s: %w", scope, err)
	}
	row.SinceUS = from
	if scope.Workspace() {
		if row.Revision, err = s.withholdingIn(db, scope.Team); err != nil {
			return Cursor{}, fmt.Errorf("read cursor of %s: %w", scope, err)
		}
	}
	at, err := lastOrder(db, scope)
	if err != nil {
		return Cursor{}, fmt.Errorf("read cursor of %s: %w", scope, err)
	}
	c := row.cursor()
	c.Ordered = instantOrZero(at)
	return c, nil
}

// ChangedThreads is the threads whose cursor differs from the saved one, or that have none, in
// order of channel and thread. It returns at most limit, beginning after the scope after (the zero
// Scope: from the first). window is how old messages of a scope without memories may be. Archived
// channels, channels that the bot is not in, and those not to be remembered are left out.
//
// A thread is considered if it has a reply within the window or since its channel was last
// remembered. It is also considered if its own memory was updated since recalled.
func (s *Store) ChangedThreads(ctx context.Context, team string, window, recalled time.Time, after chat.Scope,
	limit int) ([]chat.Scope, error) {
	now := strings.NewReplacer("{team}", "t.team_id", "{channel}", "t.channel_id", "{thread}", "t.thread_ts").
		Replace(threadCursor)
	if s.sqlite != "" {
		// Sort before comparing, so that threads beyond the limit are never compared.
		return s.changed(ctx, "threads", `
			SELECT t.team_id AS team, t.channel_id AS channel, t.thread_ts AS thread FROM (
				SELECT t.team_id, t.channel_id, t.thread_ts, s.count, s.newest_us, s.revision FROM (
					SELECT c.team_id, c.channel_id, m.thread_ts FROM channels c
					LEFT JOIN memory_scopes s ON s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = ''
					CROSS JOIN messages m ON `+replyIn+` AND m.sent_us >= COALESCE(s.since_us, ?)
					WHERE c.team_id = ? AND c.channel_id >= ? AND `+joined+` AND NOT ?
					UNION SELECT c.team_id, c.channel_id, r.thread_ts FROM channels c
					JOIN memory_scopes r ON `+threadIn+`
					WHERE c.team_id = ? AND c.channel_id >= ? AND `+joined+` AND NOT ? AND r.updated_us >= ?
				) t LEFT JOIN memory_scopes s ON s.team_id = t.team_id AND s.channel_id = t.channel_id AND s.thread_ts = t.thread_ts
				WHERE (t.channel_id, t.thread_ts) > (?, ?)
				ORDER BY t.channel_id, t.thread_ts
			) t
			WHERE `+savedCursor("t")+` <> (`+now+`)
			ORDER BY t.channel_id, t.thread_ts LIMIT ?`,
			microsOrZero(window), team, after.Channel, s.unremembered(), team, after.Channel, s.unremembered(),
			microsOrZero(recalled), after.Channel, after.Thread, limit)
	}
	// Go through the channels, and through each one's threads, in order, so that the rest of the
	// workspace is not read once the limit is reached. Postgres must be told to: it assumes that a
	// condition depending on the channel holds for a third of all messages. So it would also read a
	// channel's whole index of threads, which has all that it needs; it has no stored_us, which is
	// always above 0.
	return s.changed(ctx, "threads", `
		SELECT c.team_id AS team, c.channel_id AS channel, t.thread_ts AS thread FROM (
			SELECT c.team_id, c.channel_id FROM channels c WHERE c.team_id = ? AND c.channel_id >= ? AND `+joined+` AND NOT ? ORDER BY c.channel_id
		) c CROSS JOIN LATERAL (
			SELECT t.thread_ts FROM (
				SELECT c.team_id, c.channel_id, t.thread_ts, s.count, s.newest_us, s.revision FROM (
					SELECT n.thread_ts FROM (
						SELECT m.thread_ts, m.stored_us FROM messages m WHERE `+replyIn+` AND m.stored_us > 0 AND m.sent_us >= COALESCE((
							SELECT s.since_us FROM memory_scopes s WHERE s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = ''
						), ?) ORDER BY m.sent_us OFFSET 0
					) n
					UNION SELECT r.thread_ts FROM memory_scopes r WHERE `+threadIn+` AND r.updated_us >= ?
				) t LEFT JOIN memory_scopes s ON s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = t.thread_ts
				WHERE (c.channel_id, t.thread_ts) > (?, ?)
				ORDER BY t.thread_ts
			) t
			WHERE `+savedCursor("t")+` <> (`+now+`)
			ORDER BY t.thread_ts
		) t LIMIT ?`,
		team, after.Channel, s.unremembered(), microsOrZero(window), microsOrZero(recalled), after.Channel,
		after.Thread, limit)
}

// The conditions that a message m is a reply, and that a scope r is a thread, in a channel c.
const (
	replyIn  = "m.team_id = c.team_id AND m.channel_id = c.channel_id AND m.thread_ts <> '' AND NOT m.deleted"
	threadIn = "r.team_id = c.team_id AND r.channel_id = c.channel_id AND r.thread_ts <> ''"
)

// ChangedChannels is ChangedThreads for channels.
func (s *Store) ChangedChannels(ctx context.Context, team string, window time.Time, after chat.Scope,
	limit int) ([]chat.Scope, error) {
	now := strings.NewReplacer("{team}", "c.team_id", "{channel}", "c.channel_id", "{since}",
		"COALESCE(s.since_us, ?)").Replace(channelCursor)
	return s.changed(ctx, "channels", `
		SELECT c.team_id AS team, c.channel_id AS channel FROM channels c
		LEFT JOIN memory_scopes s ON s.team_id = c.team_id AND s.channel_id = c.channel_id AND s.thread_ts = ''
		WHERE c.team_id = ? AND c.channel_id > ? AND `+joined+` AND NOT ? AND `+savedCursor("s")+` <> (`+now+`)
		ORDER BY c.channel_id LIMIT ?`,
		team, after.Channel, s.unremembered(), microsOrZero(window), limit)
}

// changed runs a query for changed scopes.
func (s *Store) changed(ctx context.Context, what, query string, args ...any) (scopes []chat.Scope, err error) {
	if err := s.db.WithContext(ctx).Raw(query, args...).Scan(&scopes).Error; err != nil {
		return nil, fmt.Errorf("find changed %s: %w", what, err)
	}
	return scopes, nil
}

// ChannelMemoryInput is the messages that a channel's memory is made of: those sent since a time,
// threads included, the newest limit of them, and the parents of their threads. They come in no
// order, without deleted and forgotten ones. omitted is how many earlier ones there are, up to
// chat.CountAtMost.
func (s *Store) ChannelMemoryInput(ctx context.Context, team, channel string, since time.Time,
	limit int) (input []StoredMessage, omitted int, err error) {
	db := s.db.WithContext(ctx)
	c := chat.Conversation{Team: team, Channel: channel}
	marks, err := forgotten(db, team, channel)
	if err != nil {
		return nil, 0, fmt.Errorf("read marks of what was forgotten in %s: %w", channel, err)
	}
	sent := func() *gorm.DB {
		return marks.exclude(db.Model(&messageRow{}).
			Where("team_id = ? AND channel_id = ? AND sent_us >= ? AND NOT deleted", team, channel,
				microsOrZero(since)))
	}
	var rows []messageRow
	if err := sent().Order("sent_us DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("read messages of %s: %w", channel, err)
	}
	full := len(rows) == limit
	if absent := absentParents(rows); len(absent) > 0 {
		parents, err := byTS(marks.exclude(db), c, absent...)
		if err != nil {
			return nil, 0, fmt.Errorf("read parents of threads in %s: %w", channel, err)
		}
		rows = append(rows, parents...)
	}
	shown := 0
	for _, r := range rows {
		input = append(input, r.stored())
		if r.SentUS >= microsOrZero(since) {
			shown++
		}
	}
	if full {
		all, err := countAtMost(db, sent(), chat.CountAtMost+shown)
		if err != nil {
			return nil, 0, fmt.Errorf("count messages of %s: %w", channel, err)
		}
		omitted = max(0, all-shown)
	}
	return input, omitted, nil
}

// ThreadMemoryInput is the messages that a thread's memory is made of: its newest replies, at most
// limit, and its parent. They come in no order, without deleted and forgotten ones. omitted is how
// many earlier replies there are, up to chat.CountAtMost.
func (s *Store) ThreadMemoryInput(
	ctx context.Context, thread chat.Scope, limit int,
) (input []chat.Message, omitted int, err error) {
	db := s.db.WithContext(ctx)
	marks, err := forgotten(db, thread.Team, thread.Channel)
	if err != nil {
		return nil, 0, fmt.Errorf("read marks of what was forgotten in %s: %w", thread, err)
	}
	replies := func() *gorm.DB {
		return marks.exclude(db.Model(&messageRow{}).
			Where("team_id = ? AND channel_id = ? AND thread_ts = ? AND NOT deleted",
				thread.Team, thread.Channel, thread.Thread))
	}
	var rows []messageRow
	if err := replies().Order("sent_us DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("read messages of %s: %w", thread, err)
	}
	if len(rows) == limit {
		all, err := countAtMost(db, replies(), chat.CountAtMost+limit)
		if err != nil {
			return nil, 0, fmt.Errorf("count messages of %s: %w", thread, err)
		}
		omitted = max(0, all-limit)
	}
	parent, err := byTS(marks.exclude(db), chat.Conversation(thread), thread.Thread)
	if err != nil {
		return nil, 0, fmt.Errorf("read parent of %s: %w", thread, err)
	}
	return messages(append(rows, parent...)), omitted, nil
}
