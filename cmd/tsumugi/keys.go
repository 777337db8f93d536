package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/store"
)

type keysCommand struct {
	Rotate keysRotateCommand `cmd:"" help:"Have the user pool of our own sign its tokens with another key. Nobody is signed out."`
}

type keysRotateCommand struct {
	operation `embed:""`
}

// Run makes a new key and prints from when it is used.
func (c *keysRotateCommand) Run(ctx context.Context, out *output, logs *logOutput) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	// Nothing is issued here: neither the clients nor the issuer matter.
	users, err := pool.New(ctx, pool.Config{
		PoolID: poolID, ClientID: clientID, Issuer: "http://localhost" + poolPath + poolID, Logger: commandLog(logs),
	}, store.Operated{DB: db, By: operator()})
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
