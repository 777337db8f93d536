package llm

import "bytes"

// ScanChunk reads a payload by scanChunk and by encoding/json and returns what each makes of it. It reports whether
// scanChunk knows the payload at all.
func ScanChunk(data []byte, previous string) (scanned, decoded any, err error, known bool) {
	var a, b chunk
	at, known := scanChunk(data, &a, previous)
	if !known {
		return nil, nil, nil, false
	}
	if !bytes.HasPrefix(data[at:], a.content) {
		return at, a, nil, true // It says that the text stands elsewhere.
	}
	err = decodeAnyChunk(data, &b)
	return a, b, err, true
}

// DecodeAfter reads a payload that comes after another one, and by encoding/json alone, and returns what each makes of it,
// nil where it is an error. It reports whether the payload was read as one that differs in its text only.
func DecodeAfter(first, data []byte) (got, want any, again bool) {
	var d decoder
	_ = d.decode(first)
	again = d.again(data) != nil
	if d.decode(data) == nil {
		got = d.chunk
	}
	var c chunk
	if decodeAnyChunk(data, &c) == nil {
		want = c
	}
	return got, want, again
}
