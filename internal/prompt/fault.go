package prompt

import (
	"errors"
	"slices"
)

// Faults is all that is wrong with templates: an error for each fault, which names the file.
type Faults []error

// Error returns one line for each fault.
func (f Faults) Error() string { return errors.Join(f...).Error() }

// Unwrap is the faults.
func (f Faults) Unwrap() []error { return f }

// add keeps an error, if it is one, and is not known: one fault shows in many prompts.
func (f *Faults) add(err error) {
	if err == nil || slices.ContainsFunc(*f, func(known error) bool { return known.Error() == err.Error() }) {
		return
	}
	*f = append(*f, err)
}
