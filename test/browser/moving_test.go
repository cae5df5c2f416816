package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	"myao/test/testserver"
)

// film is a moving picture of the page.
type film struct {
	pictures []*image.RGBA // each differs from the one before
	taken    []time.Time
}

// shoot takes a picture and adds it to the film, if the page has changed.
func (tb *tab) shoot(f *film) {
	tb.t.Helper()
	at, raw := time.Now(), get(tb, "take a picture", chromedp.CaptureScreenshot())
	decoded, err := png.Decode(bytes.NewReader(raw))
	testserver.Must(tb.t, err)
	picture := image.NewRGBA(decoded.Bounds())
	draw.Draw(picture, picture.Rect, decoded, image.Point{}, draw.Src)
	if n := len(f.pictures); n == 0 || !bytes.Equal(f.pictures[n-1].Pix, picture.Pix) {
		f.pictures, f.taken = append(f.pictures, picture), append(f.taken, at)
	}
}

// encode returns the film as a GIF that repeats, and how long it runs. The last picture stays for a while.
func (f film) encode(last time.Duration) ([]byte, time.Duration, error) {
	colours := f.palette()
	nearest := map[color.RGBA]uint8{}
	unchanged := uint8(len(colours) - 1)
	g := gif.GIF{Config: image.Config{ColorModel: colours, Width: f.pictures[0].Rect.Dx(), Height: f.pictures[0].Rect.Dy()}}
	var length time.Duration
	for i, picture := range f.pictures {
		stays := last
		if i+1 < len(f.taken) {
			stays = f.taken[i+1].Sub(f.taken[i])
		}
		length += stays
		frame, changed := image.NewPaletted(picture.Rect, colours), image.Rectangle{}
		for y := range picture.Rect.Dy() {
			for x := range picture.Rect.Dx() {
				c := picture.RGBAAt(x, y)
				if i > 0 && c == f.pictures[i-1].RGBAAt(x, y) {
					frame.SetColorIndex(x, y, unchanged)
					continue
				}
				index, known := nearest[c]
				if !known {
					index = uint8(colours[:unchanged].Index(c))
					nearest[c] = index
				}
				frame.SetColorIndex(x, y, index)
				changed = changed.Union(image.Rect(x, y, x+1, y+1))
			}
		}
		g.Image = append(g.Image, frame.SubImage(changed).(*image.Paletted))
		g.Delay = append(g.Delay, int(stays.Round(10*time.Millisecond).Milliseconds()/10))
		g.Disposal = append(g.Disposal, gif.DisposalNone)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &g)
	return b.Bytes(), length, err
}

// palette returns the film's most frequent colours that can be told apart, and at its end transparency.
func (f film) palette() color.Palette {
	count := map[color.RGBA]int{}
	for _, picture := range f.pictures {
		for i := 0; i < len(picture.Pix); i += 4 {
			count[color.RGBA{picture.Pix[i], picture.Pix[i+1], picture.Pix[i+2], 255}]++
		}
	}
	var chosen color.Palette
	for _, c := range slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] }) {
		if len(chosen) < 255 && (len(chosen) < 16 || distance(c, chosen[chosen.Index(c)].(color.RGBA)) > 12) {
			chosen = append(chosen, c)
		}
	}
	return append(chosen, color.RGBA{})
}

// distance returns the sum of the differences of two colours' parts.
func distance(a, b color.RGBA) (sum int) {
	for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		sum += max(d, -d)
	}
	return sum
}
