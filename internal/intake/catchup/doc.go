// Package catchup reads from Slack what the door missed: messages that were posted while it was
// down, and events that never arrived. It lists the bot's channels. For each it reads the history
// since the last pass and the replies in its threads, and saves what it finds as seen. Messages
// that are unhandled, and young enough to be answered, are then recorded as their events would
// have been, the oldest first. The relay's sweep carries them on.
//
// An interrupted pass is continued, unless a thread that Slack cannot show keeps it from
// progressing. What it listed long ago may be deleted by now. Such a stale pass only reads on; a new
// pass lists again what may be answered.
//
// Channels are only read after a gap, a time in which events may have been missed (package heartbeat), and once
// a day. Each has the number of the newest gap when its last complete pass began, so that whoever reads next
// goes on with the others.
//
// How far a channel has been read is stored in its marks. Only a finished pass moves them. They are
// never derived from the stored messages, because a message that an event brings after a gap must
// not hide the gap.
package catchup
