package slack

// Exported for the tests of this package.
var (
	Plain   = plain
	Columns = columns
)

// Nobody exports nobody.
func Nobody(id string) string { return nobody(id) }
