// Package system tests the product as in production: processes of the built program with a real PostgreSQL, a NATS
// cluster, a balancer and a scripted model, while parts of it are killed, suspended and disconnected. Each test has the
// number of its row in docs/reliability.md in its name.
//
// It has tests only. They import cluster and internal/llm/llmtest, and use the product over HTTP.
package system
