// Package cluster runs several servers of the product on one machine, with everything that they share: a PostgreSQL, a
// NATS cluster with JetStream, and a balancer in front of them. It can inject the faults of production into each part:
// kill it, stop it, suspend it, disconnect it.
//
// The servers are processes of the built program; PostgreSQL is run by package store/postgres, also in processes of its
// own; NATS and the balancer run in this process. When this process dies, in whatever way, nothing is left running.
//
// It imports store/postgres and the NATS server, and is for the command cluster and for tests; it is not part of the
// product.
package cluster
