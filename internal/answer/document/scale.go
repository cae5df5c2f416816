package document

import (
	"image"
	"image/draw"
)

// scaled is a picture with sides of at most maxSide. Each of its pixels is the mean of those that it covers.
// It takes two lines besides the picture itself, where the filters of golang.org/x/image/draw take
// several times the picture.
func scaled(from image.Image) *image.RGBA {
	b := from.Bounds()
	w, h := b.Dx(), b.Dy()
	if longest := max(w, h); longest > maxSide {
		w, h = max(1, w*maxSide/longest), max(1, h*maxSide/longest)
	}
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	line := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	columns, rows := shares(b.Dx(), w), shares(b.Dy(), h)
	sums, next := make([]uint64, 4*w), make([]uint64, 4*w)
	whole := uint64(b.Dx()) * uint64(b.Dy()) // the weight of a pixel of the result
	write := func(y int) {
		row := to.Pix[y*to.Stride:]
		for i, sum := range sums {
			row[i] = uint8((sum + whole/2) / whole) //nolint:gosec // a mean of bytes
		}
		sums, next = next, sums
		clear(next)
	}
	for y, r := range rows {
		draw.Draw(line, line.Bounds(), from, image.Pt(b.Min.X, b.Min.Y+y), draw.Src)
		for x, c := range columns {
			for i := range 4 {
				value := uint64(line.Pix[4*x+i])
				at := 4*c.first + i
				sums[at] += value * c.share * r.share
				if r.rest > 0 {
					next[at] += value * c.share * r.rest
				}
				if c.rest > 0 {
					sums[at+4] += value * c.rest * r.share
					if r.rest > 0 {
						next[at+4] += value * c.rest * r.rest
					}
				}
			}
		}
		if y+1 == len(rows) || rows[y+1].first > r.first {
			write(r.first)
		}
	}
	return to
}

// share is how a pixel is divided among two of the result: the first, and the one behind it.
type share struct {
	first       int
	share, rest uint64
}

// shares divides n pixels among fewer. Each has as many shares as there are pixels in the result, and each of those
// gets n of them.
func shares(n, among int) []share {
	all := make([]share, n)
	for i := range all {
		begin, end := i*among, (i+1)*among
		first := begin / n
		bound := min(end, (first+1)*n)
		all[i] = share{first: first, share: uint64(bound - begin),
			rest: uint64(end - bound)} //nolint:gosec // not negative
	}
	return all
}
