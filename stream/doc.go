// Package stream fans the growing text of an answer out to any number of subscribers, on any number of servers, so that
// nothing that happens to a connection loses or repeats a character.
//
// # Model
//
// A [Text] is one answer while it is being written: its characters so far, the parts beside them (steps, sources, a
// title), and, once it is over, its end. A run is one attempt to write it; a server that takes an answer over from a
// dead one writes it as the next run. A [Cursor] is a run and an offset, the number of bytes of the text that a client
// has. Since it counts the text and not events, it can be served from a live text, from a stored one, and by any
// server, however the text was cut into events then.
//
// What is published is encoded once, as the bytes that go over the wire, and appended to a log of segments. A [Watch] is
// one client's position in that log: no queue, no channel and no copy for each client. Whoever comes later receives one delta
// with the text that it lacks and goes on from the end of the log; both are read under the same lock, so there is no seam between
// replay and live. A segment lives as long as a watch that has still to read it: the garbage collector does the bookkeeping. A
// watch that is more than 1 MiB behind is caught up from the text in the same way, so that a client that stalls keeps no
// log alive.
//
// # The way of a token
//
// Package sse sends watches to clients. It is told that a text has changed, not what: whoever writes to a client writes all
// that the client is behind by, in one write.
//
// # Several servers
//
// A [Hub] knows the texts of one server. Its [Transport] joins it to those of others; without one it is alone. What
// travels is an [Update], what has changed in a text since a position, in a log that the transport keeps for each message.
// Updates may be told twice, which changes nothing, and one that does not join on is noticed ([ErrHole]).
//
// Where a text is written, a relay appends what is pending as one entry, waits until it is kept, and takes what has
// gathered meanwhile: one more reader that the publisher does not wait for. A relay whose run is no longer the current one
// ([ErrStale]) abandons its text; one whose log was lost ([ErrLost]) tells all again. Where a message is followed that is
// written elsewhere, an [Interest] has a mirror begun, one for all who follow it: it applies the entries to a text of its
// own, which is watched like any other. A later run takes the place of an earlier one, whose watches end, so that the
// clients come back and are told to begin anew; after a hole the mirror begins again from the first entry, and the clients
// go on where they were. A [Feed] carries small events by topic, and keeps none.
//
//	server A                                                 server B
//
//	model ─▶ Text ─▶ log of events ─▶ Watch ─▶ client        model (asked again, when A is dead: run 2)
//	          │ since a position                               ┊
//	          ▼                                                ▼
//	        relay ── Update ──▶ Transport ── Update ──▶ mirror ─▶ Text ─▶ log of events ─▶ Watch ─▶ client
//	                            (a log for each message,              ▲                 └▶ Watch ─▶ client
//	                             fenced by run)                       └ one mirror while there is an Interest
//
// # Goroutines
//
//   - Of a [Hub]: relay, for each text that is written here, if there is a transport; follow, for each message that is mirrored
//     here. Hub.Stop waits for them.
//   - A Transport owns its own. A Text, a Watch, an Interest and a Feed have none: they belong to whoever writes or reads.
//
// # Locks
//
//   - Text.mu guards what was written and what of it is in the log. What a log's segments hold is read without it.
//   - Text.catching has one watch at a time make up what slow ones lack. It is taken before Text.mu.
//   - Hub.mu guards which texts are known, which interests are held and which run a mirror is at; Feed.mu who subscribes. Neither is
//     held while another one is taken: texts are changed, and abandoned, after it was released.
//
// # The wire
//
// The data of the events are chunks of the AI SDK's UI message stream, version 1
// (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol); ids, retry and comments follow the WHATWG's section on
// server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// The package knows nothing of chats, users or databases, and imports the standard library only. Package bridge is the
// transport over NATS; package streamtest has one in memory, and says in tests what any must do.
package stream
