package store

import (
	"context"
	"fmt"
)

// StepFile is a picture or a document that the result of a step shows to the model. It is deleted when
// its decision has an outcome.
type StepFile struct {
	StepID   string `gorm:"primaryKey"`
	TeamID   string `gorm:"<-:create;->:false"`             // not read
	Position int    `gorm:"primaryKey;autoIncrement:false"` // from 0
	Name     string
	MIME     string
	Data     []byte
}

// TableName implements gorm's schema.Tabler.
func (StepFile) TableName() string { return "step_files" }

// StepFiles returns the files of a decision's steps, in order, by the steps' ids.
func (s *Store) StepFiles(ctx context.Context, decision string) (map[string][]StepFile, error) {
	var rows []StepFile
	if err := s.db.WithContext(ctx).
		Raw("SELECT f.* FROM steps s JOIN step_files f ON f.step_id = s.id WHERE s.decision = ? ORDER BY f.step_id, "+
			"f.position", decision).
		Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read files of the steps of %s: %w", decision, err)
	}
	files := map[string][]StepFile{}
	for _, f := range rows {
		files[f.StepID] = append(files[f.StepID], f)
	}
	return files, nil
}
