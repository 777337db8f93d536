// Package child reads uploaded files in a child process of the same binary, whose limits and death are no concern of
// the server: Extractor is the parent's side, Main the child's. It owns what the two say to each other, and what the
// child may use. It imports extract, and implements datasource.Extractor.
package child
