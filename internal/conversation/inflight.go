package conversation

// InFlight is the effect whose result the state waits for, if any. A run that continues
// another one must execute it: the previous run left it.
func (s *State) InFlight() []Effect {
	switch {
	case s.Phase == Judging:
		return []Effect{Judge{Epoch: s.Epoch, Trigger: newest(s.Pending)}}
	case s.Phase == Replying && s.Posting:
		return []Effect{s.postEffect()}
	case s.Phase == Replying && len(s.Steps) > 0:
		return []Effect{s.lookEffect()}
	case s.Phase == Replying:
		return []Effect{s.composeEffect()}
	}
	return nil
}
