package launch

import (
	"io"
	"log/slog"

	"myao/internal/config"
	"myao/internal/runtime/telemetry"
)

// newLogger returns a logger with the configured format and level, which adds trace ids.
func newLogger(c config.Log, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err == nil {
		o.Level = level
	}
	var h slog.Handler = slog.NewJSONHandler(w, o)
	if c.Format == "text" {
		h = slog.NewTextHandler(w, o)
	}
	return slog.New(telemetry.NewLogHandler(h))
}
