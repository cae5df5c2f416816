package store

import (
	"reflect"
	"strings"
	"testing"
)

func TestTogether(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s database) {
		type row struct {
			Name  string   `json:"name"`
			Count int64    `json:"count"`
			Flag  bool     `json:"flag"`
			Part  *float64 `json:"part"`
		}
		db := s.db.WithContext(t.Context())
		var some, none, one []row
		err := together(db,
			query{"SELECT name, count, name = ? AS flag, part FROM (SELECT 'a' AS name, 1 AS count, 0.1 AS part UNION ALL SELECT 'b\"', 1760000000000001, NULL UNION ALL SELECT '猫', 3, 2) q WHERE name IN ? ORDER BY name DESC",
				[]any{"a", []string{"a", "b\"", "猫"}}, &some},
			query{"SELECT 'x' AS name WHERE 1 = ?", []any{0}, &none},
			query{"SELECT ? AS name", []any{"only"}, &one},
		)
		if err != nil {
			t.Fatal(err)
		}
		tenth, two := 0.1, 2.0
		want := []row{{"猫", 3, false, &two}, {"b\"", 1760000000000001, false, nil}, {"a", 1, true, &tenth}}
		if !reflect.DeepEqual(some, want) {
			t.Errorf("some: %+v", some)
		}
		if len(none) != 0 || len(one) != 1 || one[0].Name != "only" {
			t.Errorf("none: %+v, one: %+v", none, one)
		}
		if err := together(db, query{"SELECT nothing FROM nowhere", nil, &one}); err == nil {
			t.Error("a table that is not there was read")
		}
	})
}

func TestTogetherNamesWhatItCannotRead(t *testing.T) {
	var rows []struct {
		A int `json:"a"`
	}
	if err := decode([]byte(`[{"a": 1, "b": 2}]`), &rows); err == nil || !strings.Contains(err.Error(), "b") {
		t.Errorf("a column that nobody reads: %v", err)
	}
}
