// Package cluster runs several servers of the product on one machine, with a shared PostgreSQL, a NATS cluster with
// JetStream, and a load balancer. It can inject faults of production into each part: kill it, stop it, suspend it or
// disconnect it.
//
// The servers are processes of the built program. Package store/postgres runs PostgreSQL in separate processes. NATS
// and the balancer run in this process. When this process dies, even by kill -9, all other processes end.
//
// It imports store/postgres and the NATS server, and is for the command cluster and for tests; it is not part of the
// product.
package cluster
