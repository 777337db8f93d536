package llm

// ScanChunk reads a payload by scanChunk and by encoding/json and returns what each makes of it. It reports whether
// scanChunk knows the payload at all.
func ScanChunk(data []byte, previous string) (scanned, decoded any, err error, known bool) {
	var a, b chunk
	if known = scanChunk(data, &a, previous); !known {
		return nil, nil, nil, false
	}
	err = decodeAnyChunk(data, &b)
	return a, b, err, true
}
