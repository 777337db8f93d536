// Package sse sends texts to HTTP clients as server-sent events. It owns what happens on connections: who is admitted, heartbeats,
// write deadlines, slow and vanished clients, and how streams end when their time is up or the server stops.
//
// A [stream.Watch] yields events already encoded, so that one encoding serves every subscriber; this package adds only what
// belongs to one connection. It imports package stream, and no other of ours.
package sse
