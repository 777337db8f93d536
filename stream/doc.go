// Package stream fans the growing text of an answer out to any number of subscribers, on any number of servers, so that
// nothing that happens to a connection loses or repeats a character.
//
// # Model
//
// A [Text] is one answer while it is being written: its characters so far, the parts beside them (steps, sources, a
// title), and, once it is over, its end. A run is one attempt to write it; a server that takes an answer over from a
// dead one writes it as the next run. A [Cursor] is a run and an offset, the number of bytes of the text that a client
// has. Since it counts the text and not events, any server can serve it, from a live text or from a stored one, however
// the text was cut into events before.
//
// Events are encoded once, as they go over the wire, and appended to a log of segments. A [Watch] is one client's
// position in that log: there is no queue, channel or copy for each client. A late client gets one delta with the text
// that it lacks and goes on at the end of the log; both are read under the same lock, so there is no gap between replay
// and live. A segment stays in memory while a watch has still to read it; the garbage collector does the bookkeeping. A
// watch that is more than 1 MiB behind catches up from the text in the same way, so that a stalled client keeps no log
// in memory.
//
// Package stream/sse sends watches to HTTP clients. [Text.OnChange] tells it that a text has changed, not what: each
// write to a client takes all that the client is behind by.
//
// # Several servers
//
// A [Hub] is the registry of the texts of one server. Its [Transport] joins it to those of others. What travels is an
// [Update], what has changed in a text since a position, in a log that the transport keeps for each message. Updates
// may arrive twice, which changes nothing, and a missing one is noticed ([ErrHole]).
//
// On the server that writes a text, a relay appends what has changed as one entry, waits until it is stored, and takes
// what has changed meanwhile: one more reader that the publisher does not wait for. A relay whose run is no longer the
// current one ([ErrStale]) abandons its text; one whose log was lost ([ErrLost]) sends the text again. Where a message
// of another server is followed, an [Interest] begins a mirror, one for all that follow it: it applies the entries to a
// text of its own, which is watched like any other. A later run replaces an earlier one, whose watches end, so that the
// clients reconnect and are reset; after a hole the mirror begins again from the first entry, and the clients go on
// where they were. A [Feed] carries small events by topic, and stores none.
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
// A [Hub] has a relay for each text that is written here, if there is a transport, and a follow for each message that
// is mirrored here; Hub.Stop waits for them. A Transport owns its own. A Text, a Watch, an Interest and a Feed have
// none.
//
// # Locks
//
//   - Text.mu guards what was written and what of it is in the log. Segments of the log are read without it.
//   - Text.catching lets one watch at a time catch up. It is taken before Text.mu.
//   - Hub.mu guards the registered texts, the interests and the run of each mirror; Feed.mu the subscriptions. No other
//     lock is taken while one of them is held: texts are changed, and abandoned, after it was released.
//
// # The wire
//
// The data of the events are chunks of the AI SDK's UI message stream, version 1
// (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol); ids, retry and comments follow the WHATWG's section on
// server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// The package knows nothing of chats, users, databases or connections, and imports the standard library only. Package
// bridge is the transport over NATS; package streamtest has one in memory, and tests what any transport must do.
package stream
