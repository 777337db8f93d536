// Package migrations holds the database's schema as numbered steps that are only ever added to. It imports nothing.
package migrations

import "embed"

// Files holds the steps, NNNN_name.sql, applied in the order of their numbers.
//
//go:embed *.sql
var Files embed.FS
