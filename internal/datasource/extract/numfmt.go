package extract

import (
	"math"
	"strconv"
	"strings"
)

// generalNumber writes a number with the digits that a person sees: fifteen at most, and an exponent only where it is needed.
func generalNumber(f float64) string {
	if size := math.Abs(f); size != 0 && (size >= 1e15 || size < 1e-9) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', 5, 64), "E")
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return mantissa + "E" + exponent
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}
