// Package system tests the product as it runs in the field: processes of the built program, with a real PostgreSQL, a
// NATS cluster, a balancer and a scripted model, while parts of it are ended, held up and cut off. Each test is named
// after what it holds, with the number of its row in the list of what must hold.
//
// It has tests only. They import cluster and internal/llm/llmtest, and speak to the product by HTTP.
package system
