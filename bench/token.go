package main

import (
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// tokenBytes is the length of a token. All texts consist of llmtest's numbered tokens.
const tokenBytes = llmtest.TokenBytes

// appendData appends the data of token n for a peer, which is the same chunk that Tsumugi's server writes.
func appendData(dst []byte, n int) []byte {
	dst = append(dst, `{"type":"text-delta","id":"0","delta":"`...)
	return append(llmtest.AppendToken(dst, n), `"}`...)
}

// appendID appends the event id of token n, in the format of Tsumugi's server.
func appendID(dst []byte, n int) []byte {
	return strconv.AppendInt(append(dst, "1-"...), int64((n+1)*tokenBytes), 10)
}

// appendFrame appends the complete event of token n.
func appendFrame(dst []byte, n int) []byte {
	dst = append(appendData(append(dst, "data: "...), n), "\nid: "...)
	return append(appendID(dst, n), "\n\n"...)
}
