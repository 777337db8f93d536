// Package pdf reads PDF files with PDFium, which runs as WebAssembly: characters with their boxes in reading order, and
// pages as pictures. It contains the engine and the layout analysis. Its callers limit the files and the time. It must
// not depend on other formats.
package pdf
