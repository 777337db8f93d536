// Package system tests the product as in production: processes of the built program with a real PostgreSQL, a NATS
// cluster, a balancer and a scripted model. The tests kill, suspend and disconnect parts of it. The prefix of a test's
// name is the number of its row in docs/reliability.md.
//
// The package has only tests. They import cluster and internal/llm/llmtest, and use the product over HTTP.
package system
