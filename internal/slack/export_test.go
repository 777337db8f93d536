package slack

// Functions for the tests of this package.
var (
	Plain   = plain
	Columns = columns
	Nobody  = nobody
)
