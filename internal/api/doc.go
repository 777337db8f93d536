// Package api speaks HTTP: routes, handlers, problems, and the app's files. openapi.yaml beside it is its contract, and
// types.gen.go is made from that.
//
// It imports the domains and stream. It knows no database.
package api

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
