package attach

import (
	"bytes"
	"context"
	"image"
	"image/color"
	_ "image/gif" // decodes GIF
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decodes WebP

	"myao/internal/llm"
	"myao/internal/slack"
)

const (
	// maxSide is the longest side of a picture that providers do not scale down themselves, in pixels.
	maxSide = 1568
	// maxBytes is how large a picture is shown: Anthropic takes 5 MB in base64.
	maxBytes = 3_700_000
	// maxPixels bounds what is decoded. Some kinds take more memory for a pixel: WebP and 16 bits a color, and
	// progressive JPEG.
	maxPixels            = 50_000_000
	maxPixelsDeep        = 25_000_000
	maxPixelsProgressive = 16_000_000
)

// picture checks a picture by decoding it, and scales it down where providers take no larger one.
func (r *Reader) picture(ctx context.Context, info slack.File, body []byte) (content, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return content{}, refusef("cannot be read: the picture is damaged")
	}
	if pixels := int64(config.Width) * int64(config.Height); pixels == 0 || pixels > maxDecoded(config, format, body) {
		return content{}, refusef("is too large: it has %d × %d pixels", config.Width, config.Height)
	}
	select {
	case r.decoding <- struct{}{}:
		defer func() { <-r.decoding }()
	case <-ctx.Done():
		return content{}, ctx.Err()
	}
	decoded, _, err := image.Decode(bytes.NewReader(body))
	if err != nil {
		return content{}, refusef("cannot be read: the picture is damaged, or of a rare kind")
	}
	shown := llm.File{Name: info.Name, MIME: "image/" + format, Data: body}
	if max(config.Width, config.Height) > maxSide || len(body) > maxBytes {
		if shown.MIME, shown.Data, err = encode(scaled(decoded), format); err != nil {
			return content{}, refusef("cannot be read: it could not be made smaller")
		}
	}
	return content{shown: &shown}, nil
}

// maxDecoded is how many pixels a picture may have.
func maxDecoded(config image.Config, format string, body []byte) int64 {
	switch {
	case format == "jpeg" && progressive(body):
		return maxPixelsProgressive
	case format == "webp", config.ColorModel == color.NRGBA64Model, config.ColorModel == color.RGBA64Model, config.ColorModel == color.Gray16Model:
		return maxPixelsDeep
	}
	return maxPixels
}

// progressive reports whether a JPEG file is not of the plain kind, whose lines are decoded one by one.
func progressive(body []byte) bool {
	for i := 2; i+4 <= len(body) && body[i] == 0xFF; {
		switch marker := body[i+1]; marker {
		case 0xFF: // padding
			i++
		case 0xC0, 0xC1: // the beginning of a plain picture
			return false
		case 0xC2, 0xDA: // that of a progressive one, or of its data
			return true
		default:
			i += 2 + int(body[i+2])<<8 + int(body[i+3])
		}
	}
	return true
}

// scaled is a picture with sides of at most maxSide.
func scaled(from image.Image) image.Image {
	b := from.Bounds()
	w, h := b.Dx(), b.Dy()
	if longest := max(w, h); longest > maxSide {
		w, h = max(1, w*maxSide/longest), max(1, h*maxSide/longest)
	}
	to := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(to, to.Bounds(), from, b, draw.Src, nil)
	return to
}

// encode writes a picture as it was, as far as that is small: a photograph as JPEG, any other as PNG.
func encode(m image.Image, format string) (mime string, data []byte, err error) {
	var out bytes.Buffer
	if format != "jpeg" {
		if err := png.Encode(&out, m); err != nil || out.Len() <= maxBytes {
			return "image/png", out.Bytes(), err
		}
		out.Reset()
		m = onWhite(m)
	}
	err = jpeg.Encode(&out, m, &jpeg.Options{Quality: 85})
	return "image/jpeg", out.Bytes(), err
}

// onWhite is a picture without transparency, which JPEG lacks.
func onWhite(m image.Image) image.Image {
	to := image.NewNRGBA(m.Bounds())
	draw.Draw(to, to.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), m, m.Bounds().Min, draw.Over)
	return to
}
