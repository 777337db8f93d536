package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tsumugi-ai/tsumugi/internal/llm/catalog"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
)

// sealing holds the keys that encrypt secrets in the database.
type sealing struct {
	SecretKey secret.Keyring `env:"TSUMUGI_SECRET_KEY" placeholder:"KEY,…" help:"Key that encrypts secrets in the database, as tsumugi secret new prints it. Several with commas between: the first one encrypts, all of them decrypt."`
}

// requireKey returns an error without a key.
func (s sealing) requireKey() error {
	if s.SecretKey.Empty() {
		return errors.New("--secret-key (TSUMUGI_SECRET_KEY) is missing")
	}
	return nil
}

type secretCommand struct {
	New    secretNewCommand    `cmd:"" help:"Print a new key for TSUMUGI_SECRET_KEY."`
	Seal   secretSealCommand   `cmd:"" help:"Encrypt a provider's key, read from standard input, for the file of TSUMUGI_MODELS."`
	Rotate secretRotateCommand `cmd:"" help:"Encrypt all secrets in the database with the first key of TSUMUGI_SECRET_KEY."`
}

type secretNewCommand struct{}

// Run prints a random key.
func (secretNewCommand) Run(out *output) error {
	_, err := fmt.Fprintln(out, secret.NewKey())
	return err
}

type secretSealCommand struct {
	sealing `embed:""`
}

// maxSealed is the maximum size of a provider's key, in bytes.
const maxSealed = 16 << 10

// Run encrypts a provider's key and prints the result, which replaces the key in the file of TSUMUGI_MODELS.
func (c *secretSealCommand) Run(in *input, out *output) error {
	if err := c.requireKey(); err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(in, maxSealed+1))
	if err != nil {
		return err
	}
	plain = bytes.TrimSpace(plain)
	if len(plain) == 0 || len(plain) > maxSealed {
		return fmt.Errorf("standard input must have a key of 1 to %d bytes", maxSealed)
	}
	sealed, err := c.SecretKey.Seal(plain, catalog.SealOwner)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, sealed)
	return err
}

type secretRotateCommand struct {
	operation `embed:""`
}

// Run encrypts all secrets with the first key.
func (c *secretRotateCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	if err := c.requireKey(); err != nil {
		return err
	}
	all, sealed, err := db.RotateSecrets(ctx, operator())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d secrets are encrypted with the key %s, %d of them by this command.\n", all,
		c.SecretKey.String()[:8], sealed)
	return err
}
