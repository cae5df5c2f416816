package conversation

// InFlight is the effect whose end the state waits for, if it waits for any: what a
// run has to begin that takes the conversation over before another began it.
func (s *State) InFlight() []Effect {
	switch {
	case s.Phase == Judging:
		return []Effect{Judge{Epoch: s.Epoch, Trigger: newest(s.Pending)}}
	case s.Phase == Replying && s.Posting:
		return []Effect{s.postEffect()}
	case s.Phase == Replying:
		return []Effect{s.composeEffect()}
	}
	return nil
}
