// Package index ranks the passages of documents by exact BM25 (Robertson, Zaragoza: The Probabilistic Relevance
// Framework, 2009) over the tokens of package ngram: no dictionary, no approximation, no candidate that is left out.
//
// It owns the packed form in which the index of a document is kept, and what a query reads of it. A document's index
// stands alone; how rare a token is, is counted over the documents that are searched together. The package does no I/O
// and keeps nothing. It imports ngram only.
package index
