// Package timeout contains the time limits that several domains share. It imports the standard library only.
package timeout

import (
	"context"
	"time"
)

// Store is the time limit of a call of the database that a person waits for, so that a stalled database is detected.
const Store = 5 * time.Second

// Call returns the context of one call of the database, which ends after Store. It is released then, or when ctx ends.
func Call(ctx context.Context) context.Context {
	ctx, cancel := context.WithTimeout(ctx, Store)
	context.AfterFunc(ctx, cancel)
	return ctx
}
