package document

import (
	"bytes"
	"context"
	"errors"
	"image"
	_ "image/gif" // decodes GIF
	"image/jpeg"
	"image/png"

	_ "golang.org/x/image/webp" // decodes WebP

	"myao/internal/answer/document/decoding"
	"myao/internal/llm"
	"myao/internal/slack"
)

const (
	// maxSide is the longest side of a picture that providers do not scale down themselves, in pixels.
	maxSide = 1568
	// maxBytes is how large a picture is shown: Anthropic takes 5 MB in base64.
	maxBytes = 3_700_000
	// encodingBytes is what the result takes: its pixels, its file, and what encoders need; lineBytes what a
	// line or column takes while it is made smaller, a pixel.
	encodingBytes = 4*maxSide*maxSide + maxBytes + 2<<20
	lineBytes     = 32
)

// picture checks a picture by decoding it, and scales it down where providers take no larger one.
func (r *Reader) picture(ctx context.Context, info slack.File, body []byte) (content, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return content{}, refusef("cannot be read: the picture is damaged")
	}
	shown := llm.File{Name: info.Name, MIME: "image/" + format, Data: body}
	large := max(config.Width, config.Height) > maxSide || len(body) > maxBytes
	pixels, needed := int64(config.Width)*int64(config.Height), decodedBytes(config, format, body)
	if large {
		needed += encodingBytes + lineBytes*int64(config.Width+config.Height)
	}
	switch {
	case pixels <= 0 || pixels > maxPixels:
		return content{}, refusef("is too large: it has %d × %d pixels", config.Width, config.Height)
	case needed > decoding.MaxScratch && large:
		return content{}, refusef("is too large: it has %d × %d pixels, which take too much memory to be made "+
			"smaller. As a JPEG, or with fewer pixels, it could be read",
			config.Width, config.Height)
	case needed > decoding.MaxScratch: // whoever shows it decodes it
		return content{shown: &shown}, nil
	}
	release, err := r.Memory.Scratch(ctx, needed)
	if err != nil {
		return content{}, err
	}
	defer release()
	decoded, _, err := image.Decode(&interrupted{ctx, bytes.NewReader(body)})
	switch {
	case ctx.Err() != nil:
		return content{}, ctx.Err()
	case err != nil:
		return content{}, refusef("cannot be read: the picture is damaged, or of a rare kind")
	case large:
		if shown.MIME, shown.Data, err = encode(scaled(decoded), format); err != nil {
			return content{}, refusef("cannot be read: it could not be made smaller")
		}
	}
	return content{shown: &shown}, nil
}

// interrupted is a reader whose end is that of a context: a picture of a few megabytes can have millions of
// passes.
type interrupted struct {
	ctx  context.Context
	from *bytes.Reader
}

func (r *interrupted) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// bounded takes what is written up to maxBytes.
type bounded struct{ written []byte }

var errLarge = errors.New("the picture is too large")

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.written)+len(p) > maxBytes {
		return 0, errLarge
	}
	b.written = append(b.written, p...)
	return len(p), nil
}

// encode writes a picture as it was, as far as that is small: a photograph as JPEG, any other as PNG. It may
// change the picture.
func encode(m *image.RGBA, format string) (mime string, data []byte, err error) {
	out := bounded{make([]byte, 0, maxBytes)}
	if format != "jpeg" {
		if err := png.Encode(&out, m); !errors.Is(err, errLarge) {
			return "image/png", out.written, err
		}
		out.written = out.written[:0]
		putOnWhite(m)
	}
	err = jpeg.Encode(&out, m, &jpeg.Options{Quality: 85})
	return "image/jpeg", out.written, err
}

// putOnWhite takes the transparency from a picture, which JPEG lacks.
func putOnWhite(m *image.RGBA) {
	for i := 0; i+3 < len(m.Pix); i += 4 {
		missing := 255 - m.Pix[i+3]
		for k := range 4 {
			m.Pix[i+k] += missing
		}
	}
}
