// Package sse sends texts to HTTP clients as server-sent events. It owns the connections: admission, heartbeats, write
// deadlines, slow and disconnected clients, and the end of streams after a time limit or when the server stops.
//
// The events of a [stream.Watch] are already encoded, so that one encoding serves all subscribers. This package adds
// the data of one connection: the head of the response, the retry field, heartbeats and HTTP's chunks. Of this module
// it imports package stream only, and it does not interpret the texts.
//
// # Two ways of sending
//
// On Linux, a plain HTTP/1.1 connection is hijacked from net/http. Its subscriber has no goroutine and no buffer. The
// writer pool, with one goroutine for each core, writes to the subscribers of changed texts. It writes everything that
// a subscriber has not received in one nonblocking system call. If the socket of a subscriber does not accept the whole
// batch, the subscriber is a slow consumer: a separate goroutine writes to it until it has caught up.
//
//	publisher ─▶ Text.AppendText ─▶ log ─▶ group.changed ─▶ shards queued ─▶ writer ─▶ subscriber.write
//	                                                                                      │ the socket is full
//	                                                                                      ▼
//	                                                                       slow consumer: a goroutine, with a deadline
//
// Over TLS, HTTP/2 and HTTP/1.0, and on other systems, the request's goroutine waits for the text and writes to the
// response.
//
// Neither way delays a publisher or another subscriber. A client that does not accept 64 KiB within the write timeout
// is disconnected, and resumes by its cursor. The body is chunked in both cases, and only the text's end completes it,
// so that a client does not treat a part of an answer as the whole.
//
// A hijacked connection lingers after its stream: the server shuts down its sending side, and discards data from the
// client until the client has closed the connection too. Closing the connection earlier would reset it if the client
// has sent anything after its request, and the client would lose the end of the answer.
//
// # Goroutines
//
// A writer for each core and the sweep run while there are hijacked connections. A slow consumer has a goroutine until
// it has caught up, and every stream has one while its end is settled. One goroutine closes all lingering connections.
// Server.Close waits for all of them.
//
// # Locks
//
// Server.mu is locked before group.mu, shard.mu and the locks of a text. writer.mu and response.mu are never held
// together with another lock. A subscriber has no lock: its writer owns it or, while it is slow, its goroutine.
package sse
