package conversation

// InFlight are the effects whose results the state waits for. A run that continues another one must
// execute them: the previous run left them.
func (s *State) InFlight() []Effect {
	var effects []Effect
	for _, ref := range s.Acting {
		effects = append(effects, Act{ref})
	}
	for _, p := range s.Promises {
		if p.Ended != "" {
			effects = append(effects, p.endEffect())
		}
	}
	switch {
	case s.Phase == Judging && s.Occasion != (Occasion{}):
		effects = append(effects, s.checkEffect())
	case s.Phase == Judging:
		effects = append(effects, Judge{s.about()})
	case s.Phase == Replying && s.Posting:
		effects = append(effects, s.postEffect())
	case s.Phase == Replying && len(s.Steps) > 0:
		effects = append(effects, s.lookEffect())
	case s.Phase == Replying:
		effects = append(effects, s.composeEffect())
	}
	return effects
}
