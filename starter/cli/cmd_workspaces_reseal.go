package cli

import (
	"context"
	"fmt"
	"io"

	"myao/internal/runtime/codec"
	"myao/internal/slack/workspaces"
)

type workspacesReseal struct {
	output
}

// Help implements kong's Help.
func (workspacesReseal) Help() string {
	return `The programs may run meanwhile. It may be interrupted, and can be repeated. Afterwards no stored token
needs an old key any more; what Temporal holds may (docs/encryption.md).

  starter workspaces reseal`
}

// resealReport is what reseal did.
type resealReport struct {
	Resealed int    `json:"resealed"` // installations
	Key      string `json:"active_key"`
}

func (c *workspacesReseal) run(ctx context.Context, p *program) error {
	db, err := p.installations(ctx)
	if err != nil {
		return err
	}
	keys, err := codec.New(p.Config.Encryption)
	if err != nil {
		return err
	}
	out := resealReport{Key: p.Config.Encryption.ActiveKey}
	if out.Resealed, err = db.Reseal(ctx, func(id string, sealed []byte) ([]byte, error) {
		return keys.Reseal(sealed, workspaces.SealedName(id))
	}); err != nil {
		return err
	}
	return c.print(p.stdout, out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "installations that were under another key: %d; all are under %q now\n", out.Resealed, out.Key)
		return err
	})
}
