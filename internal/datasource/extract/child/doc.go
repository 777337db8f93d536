// Package child reads uploaded files in a child process of the same binary, so that a file that crashes its reader or
// exceeds its limits does not harm the server. Extractor runs in the parent, Main in the child. The package defines the
// protocol between them and the limits of the child. It imports extract, redline and picture/raster, and implements
// datasource.Extractor and picture.Reader.
package child
