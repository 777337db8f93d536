// Package uuidv7 generates ids. It imports the package uuid of Google.
package uuidv7

import "github.com/google/uuid"

// New returns a UUIDv7, which sorts by time.
func New() uuid.UUID { return uuid.Must(uuid.NewV7()) }
