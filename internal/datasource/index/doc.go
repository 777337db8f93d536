// Package index ranks the passages of documents by exact BM25 (Robertson, Zaragoza: The Probabilistic Relevance
// Framework, 2009) over the tokens of package ngram, without a dictionary, approximation or candidate selection.
//
// It defines the packed form of a document's index and reads it for queries. The index of a document is independent of
// other documents. The document frequency of a token is computed over the documents of one search. The package performs
// no I/O and is stateless. It imports ngram only.
package index
