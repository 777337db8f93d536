// Package migrations holds the database's schema as numbered steps that are only ever added to. It imports nothing.
package migrations

import "embed"

// Files holds the steps, NNNN_name.sql, applied in the order of their numbers.
//
//go:embed *.sql
var Files embed.FS

// Newest returns the number of the last step.
func Newest() int {
	steps, err := Files.ReadDir(".")
	if err != nil {
		panic(err) // The files are part of the program.
	}
	return len(steps)
}
