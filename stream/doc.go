// Package stream distributes the growing text of an answer to any number of subscribers on any number of servers. A
// broken connection neither loses nor repeats a character.
//
// # Model
//
// A [Text] is an answer while it is being written: its characters so far, its parts (steps, sources, a title) and, when
// it is complete, its end. A run is one attempt to write the answer. If a server fails, the server that takes over
// writes the answer as the next run, which may continue the text ([Head].Continued). A [Cursor] is a run and an offset, the number of bytes of the text that a client
// has received. The cursor counts the text and not events. Therefore any server can resume a client, from a live text
// or from a stored one, however the text was divided into events before.
//
// Events are encoded once, in their wire format, and appended to a log of segments. A [Watch] is one client's position
// in that log: clients have no queue, channel or copy. A late client receives one delta with the missing text and
// continues at the end of the log. Both are read under the same lock, so there is no gap between replay and live
// events. A segment stays in memory while a watch has yet to read it; after that it is garbage-collected. A watch that
// is more than 1 MiB behind also catches up from the text, so that a stalled client keeps no log in memory.
//
// Package stream/sse sends watches to HTTP clients. [Text.OnChange] notifies it of a change without the content: each
// write to a client sends everything that the client has not received.
//
// The calls of tools that a model is writing ([ToolInput]) are live state: they have no position, other servers do not
// receive them, and each client that connects receives them from their start.
//
// # Several servers
//
// A [Hub] is the registry of the texts of one server. Its [Transport] connects it to the hubs of other servers. Servers
// exchange [Update] values: the changes of a text since a position. The transport stores them in a log for each
// message. Applying an update twice has no effect, and a missing update is detected ([ErrGap]).
//
// On the server that writes a text, a relay appends all changes as one entry, waits until the entry is stored, and
// continues with the changes made meanwhile. The publisher does not wait for the relay. A relay whose run is no longer
// the current one ([ErrStale]) abandons its text; one whose log was lost ([ErrLost]) sends the whole text again. On
// other servers, an [Interest] starts a mirror, which all interests in the message share. The mirror applies the
// entries to a text of its own, which is watched like any other. A later run replaces an earlier one, whose watches
// end, so that the clients reconnect and are reset, unless the later run continues their text. A server that takes over
// an answer reads the log with [Hub.ReadLog]. After a hole the mirror starts again from the first entry, and the
// clients continue from their positions. A [Feed] distributes small events by topic without storing them.
//
//	server A                                                 server B
//
//	model ─▶ Text ─▶ log of events ─▶ Watch ─▶ client        model (asked if A has failed: run 2)
//	          │ since a position                               ┊
//	          ▼                                                ▼
//	        relay ── Update ──▶ Transport ── Update ──▶ mirror ─▶ Text ─▶ log of events ─▶ Watch ─▶ client
//	                            (a log for each message,              ▲                 └▶ Watch ─▶ client
//	                             fenced by run)                       └ one mirror while there is an Interest
//
// # Goroutines
//
// If it has a transport, a [Hub] runs a relay for each text written on its server and a follow for each mirrored
// message. Hub.Stop waits for them. A Transport owns its goroutines. A Text, a Watch, an Interest and a Feed have none.
//
// # Locks
//
//   - Text.mu guards the content of the text and of its log. Segments of the log are read without it.
//   - Text.catching lets one watch at a time catch up. It is locked before Text.mu.
//   - Hub.mu guards the registered texts, the interests and the run of each mirror; Feed.mu the subscriptions. No other
//     lock is acquired while one of them is held: texts are changed, and abandoned, after it was released.
//
// # The wire
//
// The data of the events are chunks of the AI SDK's UI message stream, version 1
// (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol); ids, retry and comments follow the WHATWG's section on
// server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// The package does not depend on chats, users, databases or connections, and imports the standard library only. Package
// bridge is the transport over NATS. Package streamtest has a transport in memory, and tests for any transport.
package stream
