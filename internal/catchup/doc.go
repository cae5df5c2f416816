// Package catchup reads from Slack what the door did not hear: what was said while it
// was closed, and events that never came. It lists the channels that the bot is in,
// reads the history of one from where the last pass ended, and the replies of its
// threads, and stores what it finds as seen. What of it is unhandled, and young enough
// to be answered, is then recorded as its event would have been, the oldest first. The
// relay's sweep carries it on from there.
//
// A pass that breaks off is gone on with, unless it got no further for a thread that Slack
// cannot show. What it was shown long ago may be gone by then, so such a pass only reads
// on: whatever may be answered is listed again.
//
// How far a channel has been read stands in its marks, which only a finished pass
// moves. They are never derived from what is stored: a message that an event brings
// after a gap must not hide the gap.
package catchup
