// Package sandbox parses untrusted files in child processes of the same binary, so that a file that crashes its parser
// or exceeds its limits does not harm the server. Runner runs in the parent, Main in the child. The package defines the
// protocol between them and the limits of a child. The packages that parse files define the tasks; this package knows
// no file formats. It imports fault.
package sandbox
