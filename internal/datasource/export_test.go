package datasource

// LongestCommon returns where the longest part of a text stands that a passage has too.
func LongestCommon(text, passage string) (from, to int) { return longestCommon(text, passage) }
