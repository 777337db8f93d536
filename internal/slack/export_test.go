package slack

// Exported for the tests of this package.
var (
	Plain   = plain
	Columns = columns
)

// Nobody knows no names.
func Nobody(id string) string { return nobody(id) }
