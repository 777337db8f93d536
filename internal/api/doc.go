// Package api is the HTTP interface: routes, handlers, problems, and the app's files. Its contract is openapi.yaml.
// types.gen.go and docs/page.gen.html are generated from it.
//
// The package imports the domains and stream, never the database.
package api

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
//go:generate go run ./docs/gen openapi.yaml docs/page.gen.html
