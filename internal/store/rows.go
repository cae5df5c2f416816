package store

// each is what all of some rows stand for, in their order.
func each[R, T any](rows []R, stands func(R) T) []T {
	all := make([]T, len(rows))
	for i, r := range rows {
		all[i] = stands(r)
	}
	return all
}

// first is the first row; the zero value where there is none.
func first[T any](rows []T) (row T) {
	if len(rows) > 0 {
		row = rows[0]
	}
	return row
}
