package slack

import (
	"errors"
	"testing"
)

func TestChannelIDChanged(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]error{
		`{"type":"channel_id_changed","old_channel_id":"G1","new_channel_id":"C1","event_ts":"1612206778.000000"}`: nil,
		`{"type":"channel_id_changed","old_channel_id":"G1"}`:                                                      ErrUnusable,
		`{"type":"channel_id_changed","new_channel_id":"C1"}`:                                                      ErrUnusable,
		`{"type":"channel_id_changed","old_channel_id":"C1","new_channel_id":"C1"}`:                                ErrUnusable,
		`{"type":"channel_id_changed","old_channel_id":"G/1","new_channel_id":["C1"]}`:                             ErrUnusable,
	} {
		env, err := ParseEnvelope([]byte(`{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":` + event + `}`))
		if err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		got, err := Decode(env, Identity{TeamID: "T1", UserID: "UBOT"})
		if !errors.Is(err, want) || want == nil && got != (ChannelIDChanged{Old: "G1", New: "C1"}) {
			t.Errorf("%s: %+v, %v", event, got, err)
		}
		if _, err := Decode(env, Identity{TeamID: "T2"}); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", event, err)
		}
	}
}
