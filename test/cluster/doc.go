// Package cluster runs several servers of the product on one machine, with everything that they share: a PostgreSQL, a
// NATS cluster with JetStream, and a balancer before them. It can do to each part what happens to it in the field: end
// it, stop it, hold it up, cut it off.
//
// The servers are processes of the built program; PostgreSQL is that of package store/postgres, also in processes of
// its own; NATS and the balancer run in this process. When this process dies, however it does, nothing is left running.
//
// It imports store/postgres and the NATS server, and is for the command cluster and for tests: no part of the product.
package cluster
