// Package extract converts an uploaded file into text by page, and pages into passages for search and citation.
//
// It contains all code that depends on file formats and text encodings. Because files can be malicious, it limits time,
// memory, nesting and output for a file of up to MaxSize; the caller must check the size. It reads Office files with
// its own XML readers (ADR 41). The package is stateless, and no goroutine outlives a call. It imports the standard
// library, golang.org/x/text, golang.org/x/net/html, html-to-markdown, fault, ooxml, redline, runes and its own package
// pdf only.
package extract
