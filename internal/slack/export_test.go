package slack

// Exported for the tests of this package.
var (
	Plain   = plain
	Columns = columns
)

// Nobody is nobody, for tests.
func Nobody(id string) string { return nobody(id) }
