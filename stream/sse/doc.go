// Package sse sends texts to HTTP clients as server-sent events. It owns what happens on a connection: who is admitted,
// heartbeats, write deadlines, slow and vanished clients, and how streams end when their time is up or the server
// stops.
//
// A [stream.Watch] yields events that are already encoded, so that one encoding serves all subscribers. This package
// adds what belongs to one connection: the head of the response, the retry field, heartbeats and HTTP's chunks. It
// imports package stream and no other of ours, and does not know what the texts say.
//
// # Two ways to a client
//
// A plain HTTP/1.1 connection on Linux is taken over from net/http. Its subscriber has no goroutine and no buffer. The
// writer pool, one goroutine for each core, writes to the subscribers of the texts that have changed: all that a
// subscriber is behind by, in one system call that does not wait. A slow consumer, whose socket does not take the
// batch, is written to by a goroutine of its own until it has caught up.
//
//	publisher ─▶ Text.AppendText ─▶ log ─▶ group.changed ─▶ shards queued ─▶ writer ─▶ subscriber.write
//	                                                                                      │ the socket is full
//	                                                                                      ▼
//	                                                                       slow consumer: a goroutine, with a deadline
//
// Over TLS, HTTP/2 and HTTP/1.0, and on other systems, the goroutine of the request waits for the text and writes to
// the response.
//
// Neither way delays a publisher or another subscriber. A client that does not take 64 KiB within the write timeout is
// dropped, and resumes by its cursor. The body is chunked on both, and only the text's end ends it well, so that a
// client takes no part of an answer for the whole.
//
// A connection that was taken over lingers after its stream: its sending side is shut down, and what the client still
// sends is discarded until it has closed the connection too. Closing it earlier would reset it if the client has sent
// anything after its request, and the client would lose the end of the answer.
//
// # Goroutines
//
// A writer for each core and the sweep run while connections are taken over. A slow consumer has a goroutine until it
// has caught up, and so has every stream while its end is settled. One goroutine closes all lingering connections.
// Server.Close waits for all of them.
//
// # Locks
//
// Server.mu is taken before group.mu, shard.mu and the locks of a text. writer.mu and response.mu are taken alone. A
// subscriber has no lock: its writer owns it, or, while it is slow, its goroutine.
package sse
