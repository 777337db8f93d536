// Package openai has the forms of OpenAI's chat completions and responses: requests, models, answers, streams and
// errors. It translates between them and package chat; package api has the handlers. Its records are generated from
// openapi.yaml.
//
// The package imports chat, fault, picture, skill and stream, and no other package of the API.
package openai

//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../openapi.yaml
