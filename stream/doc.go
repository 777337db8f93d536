// Package stream fans the growing text of an answer out to any number of clients, over server-sent events, so that
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
// one client's position in that log: no queue, no channel and no copy for each client. One broadcast wakes the watches
// that wait, and each writes all that it is behind by at once. Whoever comes later receives one delta with the text that
// it lacks and goes on from the end of the log; both are read under the same lock, so there is no seam between replay
// and live. A segment lives as long as a watch that has still to read it: the garbage collector does the bookkeeping.
//
// The publisher never waits. A client that cannot take a write within the deadline is dropped, and resumes by its
// cursor.
//
// # The wire
//
// The data of the events are chunks of the AI SDK's UI message stream, version 1
// (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol); ids, retry and comments follow the WHATWG's section on
// server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// The package knows nothing of chats, users or databases, and imports the standard library only.
package stream
