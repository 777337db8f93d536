package extract

// FormatNumber formats a number with an Excel format code.
func FormatNumber(code string, v float64) string { return parseNumberFormat(code).number(v, false) }

// FormatText formats a text with an Excel format code.
func FormatText(code, v string) string { return parseNumberFormat(code).text(v) }

// BuiltinFormat returns the code of a predefined format.
func BuiltinFormat(id int) string { return builtinFormats[id] }
