package chat

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SecondLook is the answer to whether a written reply should still be posted.
type SecondLook struct {
	Reason string
	Post   bool
}

// ParseSecondLook reads a model's answer. Its error names every fault in words that can be sent
// back to the model.
func ParseSecondLook(answer string) (SecondLook, error) {
	var raw struct {
		Reason *string `json:"reason"`
		Post   *bool   `json:"post"`
	}
	if err := json.Unmarshal([]byte(unfence(answer)), &raw); err != nil {
		return SecondLook{}, fmt.Errorf("the answer is not one JSON object: %w", err)
	}
	var faults []error
	if raw.Reason == nil {
		faults = append(faults, errors.New("reason is missing: one line of text"))
	}
	if raw.Post == nil {
		faults = append(faults, errors.New("post is missing: true or false"))
	}
	if len(faults) > 0 {
		return SecondLook{}, errors.Join(faults...)
	}
	return SecondLook{Reason: oneLine(*raw.Reason), Post: *raw.Post}, nil
}
