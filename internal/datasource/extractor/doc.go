// Package extractor extracts uploaded files in child processes, see package sandbox. Extractor runs in the parent and
// implements datasource.Extractor; Tasks run in the child. The parent checks all of the child's output. The package
// imports fault, sandbox, extract and redline.
package extractor
