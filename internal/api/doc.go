// Package api is the HTTP interface: routes, handlers, problems, and the app's files. Its contract is openapi.yaml.
// types.gen.go is generated from it.
//
// The package imports the domains and stream, never the database.
package api

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
