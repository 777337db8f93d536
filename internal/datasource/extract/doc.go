// Package extract turns an uploaded file into text by page, and pages into passages that can be searched and cited.
//
// It owns what is known of file formats and text encodings. Files come from outside and may be made to harm: time,
// memory, nesting and output are bounded for a file of up to MaxSize, which is the caller's to check. Office files are
// read by own walks over their XML (ADR 41). The package keeps nothing and starts nothing that outlives a call. It
// imports the standard library, golang.org/x/text, golang.org/x/net/html and html-to-markdown, redline and its own pdf,
// only.
package extract
