package document

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
)

// maxPixels bounds what is decoded, which takes time, too.
const maxPixels = 50_000_000

// decodedBytes is how much a decoder allocates for a picture, what it throws away included. It is what the
// decoders of Go and of golang.org/x/image do, and more where that depends on what is in the file.
func decodedBytes(config image.Config, format string, body []byte) int64 {
	pixels := int64(config.Width) * int64(config.Height)
	switch format {
	case "png":
		return pngBytes(config, pixels, body)
	case "gif": // only the first picture is decoded; if its lines are interlaced, it is copied
		return 2 * pixels
	case "jpeg":
		return jpegBytes(pixels, body)
	case "webp":
		return webpBytes(pixels, body)
	}
	return 8 * pixels
}

// pngBytes counts the picture, and two lines. An interlaced picture has each of its passes as one more.
func pngBytes(config image.Config, pixels int64, body []byte) int64 {
	const interlaced = 28 // where the header says so
	each := int64(4)
	transparent := bytes.Contains(body, []byte("tRNS"))
	switch _, paletted := config.ColorModel.(color.Palette); {
	case paletted, config.ColorModel == color.GrayModel && !transparent:
		each = 1
	case config.ColorModel == color.Gray16Model && !transparent:
		each = 2
	case config.ColorModel == color.Gray16Model, config.ColorModel == color.RGBA64Model,
		config.ColorModel == color.NRGBA64Model:
		each = 8
	}
	if len(body) <= interlaced || body[interlaced] != 0 {
		pixels *= 2
	}
	return each*pixels + 2*8*int64(config.Width)
}

// jpegBytes counts the planes; the coefficients of all of them, of four bytes each, where the file is
// progressive; and the picture into which they are put together where it has no brightness and colours.
func jpegBytes(pixels int64, body []byte) int64 {
	frame, progressive, adobe := frameOf(body)
	if frame == nil {
		return 8 * pixels
	}
	height, width, n := int64(binary.BigEndian.Uint16(frame[1:])), int64(binary.BigEndian.Uint16(frame[3:])),
		int(frame[5])
	if len(frame) < 6+3*n {
		return 8 * pixels
	}
	across, down, area := int64(1), int64(1), int64(0)
	for i := range n {
		h, v := int64(frame[7+3*i]>>4), int64(frame[7+3*i]&15)
		across, down, area = max(across, h), max(down, v), area+h*v
	}
	if n == 1 {
		across, down, area = 1, 1, 1
	}
	units := ((width + 8*across - 1) / (8 * across)) * ((height + 8*down - 1) / (8 * down))
	total := units * area * 64
	if progressive {
		total *= 5
	}
	if n == 4 || n == 3 && (adobe || frame[6] == 'R') {
		total += 4 * units * across * down * 64
	}
	return total
}

// frameOf finds the beginning of a JPEG's frame, whether it is progressive, and whether a program of Adobe
// has written it, which may have left colours as they are.
func frameOf(body []byte) (frame []byte, progressive, adobe bool) {
	for i := 2; i+4 <= len(body) && body[i] == 0xFF; {
		marker := body[i+1]
		if marker == 0xFF { // padding
			i++
			continue
		}
		end := i + 2 + int(binary.BigEndian.Uint16(body[i+2:]))
		if end < i+4 || end > len(body) || marker == 0xDA {
			break
		}
		switch segment := body[i+4 : end]; {
		case marker >= 0xC0 && marker <= 0xC2:
			if len(segment) < 9 {
				return nil, false, false
			}
			return segment, marker == 0xC2, adobe
		case marker == 0xEE && bytes.HasPrefix(segment, []byte("Adobe")):
			adobe = true
		}
		i = end
	}
	return nil, false, false
}

// webpBytes counts three halves of a byte a pixel for a photograph, and one for its transparency. What is packed
// without loss has up to 2,600 groups of Huffman trees besides, which the file pays for with a bit for four
// nodes.
func webpBytes(pixels int64, body []byte) int64 {
	total := 2 * pixels
	for rest := body[min(12, len(body)):]; len(rest) >= 8; {
		size := int64(binary.LittleEndian.Uint32(rest[4:]))
		chunk := rest[8:]
		chunk = chunk[:min(size, int64(len(chunk)))]
		if kind := string(rest[:4]); kind == "VP8L" || kind == "ALPH" && len(chunk) > 0 && chunk[0]&3 != 0 {
			const maxTrees, treesPerByte, tables = 2600 * 55_000, 300, 4 << 20
			total += 9*pixels + min(maxTrees, int64(len(chunk))*treesPerByte) + tables
		}
		rest = rest[8+min(size+size&1, int64(len(rest)-8)):]
	}
	return total
}
