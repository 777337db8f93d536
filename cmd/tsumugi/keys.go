package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/store"
)

type keysCommand struct {
	Rotate keysRotateCommand `cmd:"" help:"Create a new signing key for the tokens of the embedded user pool. All sessions stay valid."`
}

type keysRotateCommand struct {
	operation `embed:""`
}

// Run creates a signing key and prints when servers start to use it.
func (c *keysRotateCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	// This command issues no tokens, so the clients and the issuer may be empty.
	users, err := pool.New(ctx, pool.Config{
		PoolID: poolID, ClientID: clientID, Issuer: "http://localhost" + poolPath + poolID, Logger: commandLog(logs),
	}, store.AuditedPool{DB: db, By: operator()})
	if err != nil {
		return err
	}
	defer users.Stop(ctx)
	change, err := users.RotateKey(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Key %s signs from %s on; the keys before it are published until %s.\n", change.ID,
		change.ActiveFrom.Format(time.RFC3339), change.OldUntil.Format(time.RFC3339))
	return err
}
