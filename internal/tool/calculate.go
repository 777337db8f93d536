package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const calculateName = "calculate"

// Bounds of a calculation.
const (
	maxExpression = 1_000 // In characters.
	maxBits       = 2_048 // Of a numerator or denominator.
	maxExponent   = 500
	maxDigits     = 20 // Decimal places of a result.
)

func calculateTool() Tool {
	type arguments struct {
		Expression string `json:"expression"`
		Unit       string `json:"unit"`
	}
	return newTool(Tool{
		Name: calculateName, Title: "計算",
		Description: "式を正確に計算する。四則演算 + - * / と括弧、千・万・億・兆・円・千円・百万円などの単位、% が使える。" +
			"関数は round(値; 小数の桁数)、floor(値; 桁数)、ceil(値; 桁数)（四捨五入、切り捨て、切り上げ）、sum、average、min、max、abs、pow(底; 整数)。" +
			"関数の引数は ; で区切る。例：(3億5000万円 + 1,200千円) * 8% 。金額、割合、合計は、暗算せずにこのツールで計算する。",
		Parameters: json.RawMessage(`{
			"type": "object", "additionalProperties": false, "required": ["expression"],
			"properties": {
				"expression": {"type": "string", "description": "計算する式"},
				"unit": {"type": "string", "enum": ["", "千円", "万円", "百万円", "億円"], "description": "結果をこの単位で返す。省略すると円"}
			}
		}`),
	}, func(_ context.Context, a arguments) (Result, error) {
		text, err := calculate(a.Expression, a.Unit)
		return Result{Text: text}, err
	})
}

// units are the factors of the units of numbers.
var units = map[string]string{
	"円": "1", "千": "1000", "千円": "1000", "万": "10000", "万円": "10000", "百万": "1000000", "百万円": "1000000",
	"億": "100000000", "億円": "100000000", "兆": "1000000000000", "兆円": "1000000000000", "%": "0.01",
}

var (
	// amounts matches a sum of numbers with units, such as 3億5000万円.
	amounts = regexp.MustCompile(`(?:\d[\d,]*(?:\.\d+)?(?:百万円|百万|千円|万円|億円|兆円|千|万|億|兆|円|%))+(?:\d[\d,]*(?:\.\d+)?)?`)
	amount  = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)(百万円|百万|千円|万円|億円|兆円|千|万|億|兆|円|%)?`)
	number  = regexp.MustCompile(`^[\d.]+$`)
	// Commas separate thousands. In the arguments of functions they may also separate arguments.
	function = regexp.MustCompile(`[a-z]\(`)
	thousand = regexp.MustCompile(`\d,\d{3}(?:\D|$)`)
	spaced   = regexp.MustCompile(`,\s`)
	// Python's operator of the remainder.
	remainder = regexp.MustCompile(`%[\d(]`)

	operators = strings.NewReplacer("×", "*", "✕", "*", "÷", "/", "−", "-", "―", "-", "ー", "-", "¥", "")
)

// normalize converts an expression to the syntax of Go: half-width characters, and numbers without units.
func normalize(expression string) (string, error) {
	text := operators.Replace(width.Fold.String(expression))
	text = strings.Join(strings.Fields(spaced.ReplaceAllString(text, ";")), "")
	if strings.Contains(text, "//") || strings.Contains(text, "/*") { // Comments of Go, which its parser skips.
		return "", fault.Errorf(fault.Invalid, "// と /* は使えません。割り算は / です。")
	}
	if remainder.MatchString(text) {
		return "", fault.Errorf(fault.Invalid, "%% は百分率です。余りは計算できません。")
	}
	text = strings.NewReplacer("--", "- -", "++", "+ +").Replace(text) // Not operators of Go.
	if function.MatchString(text) && !strings.Contains(text, ";") {
		if thousand.MatchString(text) {
			return "", fault.Errorf(fault.Invalid, "コンマが桁区切りか引数の区切りか分かりません。引数は ; で区切ってください。")
		}
		text = strings.ReplaceAll(text, ",", ";")
	}
	text = amounts.ReplaceAllStringFunc(text, func(sum string) string {
		var terms []string
		for _, part := range amount.FindAllStringSubmatch(sum, -1) {
			factor := cmp.Or(units[part[2]], "1")
			terms = append(terms, part[1]+"*"+factor)
		}
		return "(" + strings.Join(terms, "+") + ")"
	})
	return strings.ReplaceAll(strings.ReplaceAll(text, ",", ""), ";", ","), nil
}

// calculate returns the value of an expression as a text.
func calculate(expression, unit string) (string, error) {
	divisor, known := units[cmp.Or(unit, "円")]
	if !known {
		return "", fault.Errorf(fault.Invalid, "単位は 千円、万円、百万円、億円 のどれかを指定してください。")
	}
	if n := utf8.RuneCountInString(expression); strings.TrimSpace(expression) == "" || n > maxExpression {
		return "", fault.Errorf(fault.Invalid, "式は1文字以上%d文字以内で指定してください。", maxExpression)
	}
	normalized, err := normalize(expression)
	if err != nil {
		return "", err
	}
	tree, err := parser.ParseExpr(normalized)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "式を読み取れませんでした。演算子、括弧、単位を確かめてください。")
	}
	value, err := evaluate(tree)
	if err == nil {
		factor, _ := new(big.Rat).SetString(divisor) // Never fails.
		value, err = binary(value, token.QUO, factor)
	}
	if err != nil {
		return "", err
	}
	text, exact := format(value)
	result := expression + " = " + text + unit
	if !exact {
		result += fmt.Sprintf("（小数第%d位までの近似値）", maxDigits)
	}
	return result, nil
}

// evaluate returns the value of a parsed expression.
func evaluate(e ast.Expr) (*big.Rat, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return evaluate(e.X)
	case *ast.BasicLit:
		if value, ok := new(big.Rat).SetString(e.Value); ok && number.MatchString(e.Value) {
			return bounded(value)
		}
	case *ast.UnaryExpr:
		value, err := evaluate(e.X)
		switch {
		case err != nil || e.Op == token.ADD:
			return value, err
		case e.Op == token.SUB:
			return value.Neg(value), nil
		}
		return nil, errOperator(e.Op)
	case *ast.BinaryExpr:
		if !slices.Contains([]token.Token{token.ADD, token.SUB, token.MUL, token.QUO}, e.Op) {
			return nil, errOperator(e.Op)
		}
		x, err := evaluate(e.X)
		if err != nil {
			return nil, err
		}
		y, err := evaluate(e.Y)
		if err != nil {
			return nil, err
		}
		return binary(x, e.Op, y)
	case *ast.CallExpr:
		return call(e)
	}
	return nil, fault.Errorf(fault.Invalid, "式に使えないものが含まれています。数、演算子、括弧、関数だけを使ってください。")
}

func errOperator(op token.Token) error {
	return fault.Errorf(fault.Invalid, "演算子 %s は使えません。べき乗は pow(底; 指数) で計算してください。", op)
}

// binary applies an operator to two numbers.
func binary(x *big.Rat, op token.Token, y *big.Rat) (*big.Rat, error) {
	result := new(big.Rat)
	switch {
	case op == token.QUO && y.Sign() == 0:
		return nil, fault.Errorf(fault.Invalid, "0で割ることはできません。")
	case op == token.QUO:
		result.Quo(x, y)
	case op == token.MUL:
		result.Mul(x, y)
	case op == token.SUB:
		result.Sub(x, y)
	default:
		result.Add(x, y)
	}
	return bounded(result)
}

// bounded returns a number unless it is so large or so precise that further calculations would take long.
func bounded(r *big.Rat) (*big.Rat, error) {
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		return nil, fault.Errorf(fault.Invalid, "計算の途中の値が大きすぎます。")
	}
	return r, nil
}

// call evaluates the call of a function.
func call(e *ast.CallExpr) (*big.Rat, error) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || e.Ellipsis != token.NoPos || len(e.Args) == 0 {
		return nil, fault.Errorf(fault.Invalid, "関数の呼び出しを読み取れませんでした。引数は ; で区切ってください。")
	}
	values := make([]*big.Rat, len(e.Args))
	for i, argument := range e.Args {
		var err error
		if values[i], err = evaluate(argument); err != nil {
			return nil, err
		}
	}
	switch name.Name {
	case "min":
		return slices.MinFunc(values, (*big.Rat).Cmp), nil
	case "max":
		return slices.MaxFunc(values, (*big.Rat).Cmp), nil
	case "sum":
		return sum(values)
	case "average":
		total, err := sum(values)
		if err != nil {
			return nil, err
		}
		return binary(total, token.QUO, big.NewRat(int64(len(values)), 1))
	case "abs":
		if len(values) == 1 {
			return values[0].Abs(values[0]), nil
		}
	case "round", "floor", "ceil":
		if len(values) <= 2 {
			return roundTo(name.Name, values)
		}
	case "pow":
		if len(values) == 2 {
			return power(values[0], values[1])
		}
	default:
		return nil, fault.Errorf(fault.Invalid, "関数 %.20s はありません。round、floor、ceil、sum、average、min、max、abs、pow が使えます。", name.Name)
	}
	return nil, fault.Errorf(fault.Invalid, "関数 %s の引数の数が正しくありません。", name.Name)
}

func sum(values []*big.Rat) (total *big.Rat, err error) {
	total = new(big.Rat)
	for _, v := range values {
		if total, err = binary(total, token.ADD, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// whole returns a whole number between bounds.
func whole(r *big.Rat, least, most int64) (int64, error) {
	if !r.IsInt() || !r.Num().IsInt64() || r.Num().Int64() < least || r.Num().Int64() > most {
		return 0, fault.Errorf(fault.Invalid, "桁数と指数には、%d以上%d以下の整数を指定してください。", least, most)
	}
	return r.Num().Int64(), nil
}

// roundTo rounds the first value to the number of decimal places in the second one, by default 0. Halves are rounded
// away from 0.
func roundTo(how string, values []*big.Rat) (*big.Rat, error) {
	places := int64(0)
	if len(values) == 2 {
		var err error
		if places, err = whole(values[1], -maxDigits, maxDigits); err != nil {
			return nil, err
		}
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(places, -places)), nil))
	if places < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(values[0], scale)
	result := new(big.Int)
	switch how {
	case "round":
		result.SetString(scaled.FloatString(0), 10)
	case "ceil":
		result.Neg(result.Div(result.Neg(scaled.Num()), scaled.Denom()))
	default:
		result.Div(scaled.Num(), scaled.Denom()) // Rounds down.
	}
	return bounded(scaled.Quo(scaled.SetInt(result), scale))
}

// power returns base to the power of a whole exponent.
func power(base, exponent *big.Rat) (*big.Rat, error) {
	n, err := whole(exponent, -maxExponent, maxExponent)
	if err != nil {
		return nil, err
	}
	result := new(big.Rat).SetInt64(1)
	if n < 0 {
		if base, err = binary(result, token.QUO, base); err != nil {
			return nil, err
		}
	}
	for range max(n, -n) {
		if result, err = binary(result, token.MUL, base); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// format returns a number with commas. exact is false if it was rounded to maxDigits decimal places.
func format(r *big.Rat) (text string, exact bool) {
	places, exact := r.FloatPrec()
	if !exact || places > maxDigits {
		places, exact = maxDigits, false
	}
	integer, fraction, _ := strings.Cut(r.FloatString(places), ".")
	for at := len(integer) - 3; at > 0 && integer[at-1] != '-'; at -= 3 {
		integer = integer[:at] + "," + integer[at:]
	}
	return strings.TrimSuffix(integer+"."+fraction, "."), exact
}
