package dial

// Exports for tests.
var (
	Public    = public
	CheckDial = checkDial
)
