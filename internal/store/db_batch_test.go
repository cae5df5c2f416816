package store

import (
	"reflect"
	"testing"
	"time"
)

func TestRunBatch(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s database) {
		type row struct {
			Name  string   `json:"name"`
			Count int64    `json:"count"`
			Flag  bool     `json:"flag"`
			Part  *float64 `json:"part"`
		}
		db := s.db.WithContext(t.Context())
		var some, none []row
		var one []struct {
			Name   string `json:"name"`
			Unread int
		}
		err := runBatch(db,
			query{`SELECT name, count, name = ? AS flag, part FROM (
				SELECT 'a' AS name, 1 AS count, 0.1 AS part UNION ALL SELECT 'b", \{}', 1760000000000001, NULL UNION ALL SELECT '猫', -3, 2 UNION ALL SELECT '', 0, 0
			) q WHERE name IN ? ORDER BY name DESC`, []any{"a", []string{"a", `b", \{}`, "猫", ""}}, &some},
			query{"SELECT 'x' AS name, 1 AS count, TRUE AS flag, 1.5 AS part WHERE 1 = ?", []any{0}, &none},
			query{"SELECT ? AS name, 1 AS more UNION ALL SELECT NULL, 2", []any{"only"}, &one},
		)
		if err != nil {
			t.Fatal(err)
		}
		zero, tenth, two := 0.0, 0.1, 2.0
		want := []row{{"猫", -3, false, &two}, {`b", \{}`, 1760000000000001, false, nil}, {"a", 1, true, &tenth}, {"", 0, false, &zero}}
		if !reflect.DeepEqual(some, want) {
			t.Errorf("some: %+v", some)
		}
		if len(none) != 0 || len(one) != 2 || one[0].Name != "only" || one[1].Name != "" {
			t.Errorf("none: %+v, one: %+v", none, one)
		}
		if err := runBatch(db, query{"SELECT nothing FROM nowhere", nil, &one}); err == nil {
			t.Error("a table that is not there was read")
		}
	})
}

// A value that does not fit its field is an error, not a panic.
func TestUnpackNamesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	s := migratedPostgres(t)
	db := s.db.WithContext(t.Context())
	var numbers []struct {
		A int `json:"a"`
	}
	var times []struct {
		At time.Time `json:"at"`
	}
	for _, q := range []query{{"SELECT 'x' AS a", nil, &numbers}, {"SELECT NOW() AS at", nil, &times}, {"SELECT 1 AS b", nil, &numbers}} {
		if err := runBatch(db, q); err == nil {
			t.Errorf("%s is read", q.sql)
		}
	}
}
