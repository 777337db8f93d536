// Package api is the HTTP interface: routes, handlers, problems, and the app's files. Its contract is openapi.yaml,
// from which types.gen.go is generated.
//
// It imports the domains and stream, never the database.
package api

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
