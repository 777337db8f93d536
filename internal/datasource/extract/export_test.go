package extract

// FormatNumber returns a number as a format of Excel shows it.
func FormatNumber(code string, v float64) string { return parseNumberFormat(code).number(v, false) }

// FormatText returns a text as a format of Excel shows it.
func FormatText(code, v string) string { return parseNumberFormat(code).text(v) }

// BuiltinFormat returns the code of a format that is known by its id.
func BuiltinFormat(id int) string { return builtinFormats[id] }
