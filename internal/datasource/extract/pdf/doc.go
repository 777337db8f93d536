// Package pdf reads PDF files with PDFium, which runs as WebAssembly: characters with their boxes, the order in which a
// person reads them, and pages as pictures. It owns the engine and the layout; what may be read and how long is its
// callers' matter. It knows no other format.
package pdf
