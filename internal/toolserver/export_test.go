package toolserver

// Exports for tests.
var (
	NewDefinition  = newDefinition
	CheckArguments = checkArguments
)
