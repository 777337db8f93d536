package slack

// Functions for the tests of this package.
var (
	Plain  = plain
	Nobody = nobody
)
