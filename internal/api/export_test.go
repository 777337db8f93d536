package api

// Unexported parts that the tests look into.
var (
	FindAddress   = findAddress
	ParseLiveAuth = parseLiveAuth
)
