package datasource

// LongestCommon exports longestCommon.
func LongestCommon(text, passage string) (from, to int) { return longestCommon(text, passage) }
