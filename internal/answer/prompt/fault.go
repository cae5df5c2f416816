package prompt

import (
	"errors"
	"slices"
)

// Faults is everything that is wrong with templates: an error per fault, which names the file.
type Faults []error

// Error returns one line per fault.
func (f Faults) Error() string { return errors.Join(f...).Error() }

// Unwrap returns the faults for errors.Is and errors.As.
func (f Faults) Unwrap() []error { return f }

// add adds an error unless it is nil or known; one fault occurs in many prompts.
func (f *Faults) add(err error) {
	if err == nil || slices.ContainsFunc(*f, func(known error) bool { return known.Error() == err.Error() }) {
		return
	}
	*f = append(*f, err)
}
