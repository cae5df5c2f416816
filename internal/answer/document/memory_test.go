package document

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"

	"myao/internal/chat"
	"myao/internal/slack"
	"myao/test/peak"
)

// pngOf is a PNG whose pixels are all zero.
func pngOf(t *testing.T, w, h uint32, depth, kind, interlaced byte, more ...string) []byte {
	t.Helper()
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		at := len(out)
		out = append(append(out, name...), data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[at:]))
	}
	chunk("IHDR", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h), depth, kind, 0, 0, interlaced))
	for _, m := range more {
		chunk(m[:4], []byte(m[4:]))
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	bits := uint64(depth) * map[byte]uint64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
	lines := func(w, h int) {
		if w > 0 {
			_, _ = z.Write(make([]byte, ((uint64(w)*bits+7)/8+1)*uint64(h)))
		}
	}
	passes := [][4]int{{0, 0, 1, 1}}
	if interlaced != 0 {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	for _, p := range passes {
		lines((int(w)-p[0]+p[2]-1)/p[2], (int(h)-p[1]+p[3]-1)/p[3])
	}
	_ = z.Close()
	chunk("IDAT", packed.Bytes())
	chunk("IEND", nil)
	return out
}

// jpegOf returns a JPEG without pixel data. sampled has one byte for each component: its sampling factors.
func jpegOf(w, h uint16, progressive bool, adobe string, sampled ...byte) []byte {
	out := []byte("\xff\xd8" + adobe)
	marker, each := byte(0xC0), len(sampled)
	if progressive {
		marker = 0xC2
	}
	out = append(out, 0xFF, marker, 0, byte(8+3*each), 8)
	out = append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(out, h), w), byte(each))
	for i, s := range sampled {
		out = append(out, byte(i+1), s, 0)
	}
	var quant [64]byte
	for i := range quant {
		quant[i] = 1
	}
	out = append(append(out, 0xFF, 0xDB, 0, 67, 0), quant[:]...)
	for _, class := range []byte{0x00, 0x10} { // one code each: no difference, the end of a block
		out = append(append(out, 0xFF, 0xC4, 0, 20, class, 1), make([]byte, 16)...)
	}
	out = append(out, 0xFF, 0xDA, 0, byte(6+2*each), byte(each))
	for i := range sampled {
		out = append(out, byte(i+1), 0)
	}
	last := byte(63)
	if progressive {
		last = 0
	}
	out = append(out, 0, last, 0)
	return append(append(out, make([]byte, 1<<20)...), 0xFF, 0xD9)
}

const adobe = "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"

// hostilePictures take far more to be decoded than their own size.
func hostilePictures(t *testing.T) map[string][]byte {
	t.Helper()
	palette := "PLTE" + strings.Repeat("abc", 256)
	var frame bytes.Buffer
	if err := gif.Encode(&frame, image.NewPaletted(image.Rect(0, 0, 6600, 6600), color.Palette{color.Black, color.White}), nil); err != nil {
		t.Fatal(err)
	}
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewYCbCr(image.Rect(0, 0, 8000, 6000), image.YCbCrSubsampleRatio420), nil); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"a poster":                      pngOf(t, 7071, 7071, 8, 3, 0, palette),
		"a poster of one bit":           pngOf(t, 7071, 7071, 1, 0, 0),
		"one bit, interlaced":           pngOf(t, 6600, 6600, 1, 0, 1),
		"grey with transparency":        pngOf(t, 7000, 7000, 8, 0, 0, "tRNS\x00\x00"),
		"16 bits":                       pngOf(t, 3300, 3300, 16, 6, 0),
		"16 bits, interlaced":           pngOf(t, 2400, 2400, 16, 6, 1),
		"16 bits of grey":               pngOf(t, 6000, 6000, 16, 0, 0),
		"16 bits with transparency":     pngOf(t, 3300, 3300, 16, 2, 0, "tRNS\x00\x00\x00\x00\x00\x00"),
		"colours":                       pngOf(t, 4700, 4700, 8, 6, 0),
		"colours, interlaced":           pngOf(t, 3400, 3400, 8, 6, 1),
		"colours beyond the limit":      pngOf(t, 7000, 7000, 8, 6, 0),
		"one line":                      pngOf(t, 12_000_000, 1, 8, 6, 0),
		"one column":                    pngOf(t, 1, 5_000_000, 8, 6, 0),
		"a GIF":                         frame.Bytes(),
		"a photograph":                  photo.Bytes(),
		"a plain JPEG":                  jpegOf(5500, 5500, false, "", 0x11, 0x11, 0x11),
		"a progressive JPEG":            jpegOf(4032, 3024, true, "", 0x22, 0x11, 0x11),
		"a progressive JPEG, unsampled": jpegOf(2400, 2400, true, "", 0x11, 0x11, 0x11),
		"four colours":                  jpegOf(3300, 3300, false, adobe, 0x11, 0x11, 0x11, 0x11),
		"four colours, progressive":     jpegOf(1900, 1900, true, adobe, 0x11, 0x11, 0x11, 0x11),
		"colours of their own":          jpegOf(3600, 3600, false, adobe, 0x11, 0x11, 0x11),
		"a JPEG beyond the limit":       jpegOf(7000, 7000, true, "", 0x22, 0x11, 0x11),
	}
}

// No picture takes much memory, whatever it is, and however many there are at once.
func TestMemoryOfPictures(t *testing.T) {
	peak.Of(t, func() map[string]func() { return readings(t) })
}

// readings read what takes memory.
func readings(t *testing.T) map[string]func() {
	t.Helper()
	pictures := hostilePictures(t)
	cases := map[string]func(){}
	for name, body := range pictures {
		cases[name] = func() {
			got, err := read(t, named("a", "image/png"), body)
			t.Log(name, len(body), got.shown != nil, err)
		}
	}
	large := pngOf(t, 4500, 4500, 8, 6, 0)
	cases["several at once"] = func() {
		s := &fakeSlack{files: map[string]slack.File{"F1": {File: chat.File{ID: "F1", MIME: "image/png"}, URL: "https://files.slack.com/f"}}, bodies: map[string][]byte{"F1": large}}
		r := reader(s)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, _, err := r.Read(t.Context(), chat.File{ID: "F1"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	texts := map[string]string{"a long text": strings.Repeat("\x83\x65", 2<<20), "a text in UTF-8": strings.Repeat("あ", 1<<20), "Latin": strings.Repeat("\xe9", 4<<20)}
	for name, body := range texts {
		cases[name] = func() { _, _ = read(t, named("a.txt", "text/plain"), []byte(body)) }
	}
	return cases
}

// What is counted for a picture is what its decoder allocates at least.
func TestDecodedBytes(t *testing.T) {
	for name, body := range hostilePictures(t) {
		config, format, err := image.DecodeConfig(bytes.NewReader(body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		counted := decodedBytes(config, format, body)
		if counted > 200_000_000 {
			continue
		}
		before := allocated()
		decoded, _, err := image.Decode(bytes.NewReader(body))
		if took := allocated() - before; int64(took) > counted+1<<20 || err != nil || decoded.Bounds().Dx() != config.Width {
			t.Errorf("%s: %d bytes for %d × %d pixels, counted are %d; %v", name, took, config.Width, config.Height, counted, err)
		} else {
			t.Log(name, took, counted, err)
		}
	}
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Nothing is downloaded while there is no memory for it.
func TestBodiesWait(t *testing.T) {
	t.Parallel()
	s := &fakeSlack{
		files:  map[string]slack.File{"F1": {File: chat.File{ID: "F1", MIME: "image/png"}, URL: "https://files.slack.com/f"}},
		bodies: map[string][]byte{"F1": encoded(t, picture(40, 30), "png")},
	}
	r := reader(s)
	release, err := r.Memory.Body(t.Context(), most.picture)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Read(ctx, chat.File{ID: "F1"}); !errors.Is(err, context.Canceled) || len(s.downloaded) > 0 {
		t.Errorf("%v, downloaded %v, want that it waits", err, s.downloaded)
	}
	release()
	if _, files, err := r.Read(t.Context(), chat.File{ID: "F1"}); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// webpOf is the header of a WebP without loss, with so many bytes that mean nothing.
func webpOf(w, h uint32, size int) []byte {
	chunk := binary.LittleEndian.AppendUint32([]byte{0x2f}, (w-1)|(h-1)<<14)
	chunk = append(chunk, make([]byte, size)...)
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(chunk)+12))
	return append(binary.LittleEndian.AppendUint32(append(out, "WEBPVP8L"...), uint32(len(chunk))), chunk...)
}

// What a WebP without loss takes is known only from what is in it. It is not decoded where it may be too much.
func TestWebPWithoutLoss(t *testing.T) {
	t.Parallel()
	small := webpOf(1500, 1500, 400_000)
	got, err := read(t, named("a.webp", "image/webp"), small)
	if err != nil || !bytes.Equal(got.shown.Data, small) {
		t.Errorf("one that need not be made smaller: %v", err)
	}
	_, err = read(t, named("a.webp", "image/webp"), webpOf(3000, 3000, 400_000))
	if refused, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(refused.Reason, "As a JPEG") {
		t.Errorf("one that must be made smaller: %v", err)
	}
}
