package api

// Unexported parts that the tests look into.
var (
	ParseLiveAuth    = parseLiveAuth
	ParseTraceparent = parseTraceparent
)
