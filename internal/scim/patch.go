package scim

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	filter "github.com/scim2/filter-parser/v2"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Limits of a PATCH.
const (
	maxOperations    = 10_000
	maxOperationPath = 300 // Bytes of the path of an operation.
)

// patchRequest is the body of a PATCH (RFC 7644, section 3.5.2).
type patchRequest struct {
	Schemas    []string    `json:"schemas"`
	Operations []operation `json:"Operations"` //nolint:tagliatelle // The name in the RFC.
}

// operation is an operation of a PATCH.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// check validates a request, and returns its operations with their names in lower case: Entra ID capitalizes them.
func (p patchRequest) check() ([]operation, error) {
	if !slices.ContainsFunc(p.Schemas, func(urn string) bool { return strings.EqualFold(urn, urnPatch) }) {
		return nil, fault.Errorf(InvalidSyntax, "schemas に %s を指定してください。", urnPatch)
	}
	switch {
	case len(p.Operations) == 0:
		return nil, fault.Errorf(InvalidSyntax, "Operations に、1件以上の操作を指定してください。")
	case len(p.Operations) > maxOperations:
		return nil, fault.Errorf(TooMany, "一度に指定できる操作は%d件までです。", maxOperations)
	}
	for i := range p.Operations {
		op := &p.Operations[i]
		op.Op = strings.ToLower(op.Op)
		switch {
		case op.Op != opAdd && op.Op != opReplace && op.Op != opRemove:
			return nil, fault.Errorf(InvalidSyntax, "操作 %q には対応していません。add、replace、remove のいずれかを指定してください。", shown(op.Op))
		case op.Op == opRemove && op.Path == "":
			return nil, fault.Errorf(NoTarget, "removeには、pathを指定してください。")
		}
	}
	return p.Operations, nil
}

// target is the location of an operation.
type target struct {
	attribute *attribute
	extension string            // The URN of the extension, or "".
	where     filter.Expression // Selects values of a multi-valued attribute. Nil for all.
	sub       *attribute        // Nil for the whole attribute.
}

// parsePath returns the location of a path.
func (t resourceType) parsePath(path string) (target, error) {
	refused := fault.Errorf(InvalidPath, "path %q には対応していません。", shown(path))
	if len(path) > maxOperationPath || strings.Count(path, "(") > maxDepth {
		return target{}, refused
	}
	parsed, err := filter.ParsePath([]byte(path))
	if err != nil {
		return target{}, fault.Wrap(err, InvalidPath, "%s", refused.Detail)
	}
	attributes, extension, ok := t.resolve(parsed.AttributePath.URI())
	to := target{
		attribute: find(attributes, parsed.AttributePath.AttributeName), extension: extension,
		where: parsed.ValueExpression,
	}
	if !ok || to.attribute == nil {
		return target{}, refused
	}
	name := parsed.AttributePath.SubAttributeName()
	if parsed.SubAttribute != nil {
		name = *parsed.SubAttribute
	}
	if name != "" {
		if to.sub = find(to.attribute.Sub, name); to.sub == nil {
			return target{}, refused
		}
	}
	if to.where != nil {
		if !to.attribute.Multi {
			return target{}, refused
		}
		if err := checkSub(to.attribute, to.where); err != nil {
			return target{}, fault.Wrap(err, InvalidPath, "%s", refused.Detail)
		}
	}
	if to.attribute.Mutability == readOnly || to.sub != nil && to.sub.Mutability == readOnly {
		return target{}, fault.Errorf(Mutability, "%q は変更できません。", shown(path))
	}
	return to, nil
}

// patchEach applies operations to the attributes of a user. Records without a value are removed after the last operation,
// because an identity provider may send the parts of a record in any order.
func (t resourceType) patchEach(resource map[string]any, operations []operation) error {
	for _, op := range operations {
		if err := t.patch(resource, op); err != nil {
			return err
		}
	}
	dropWithoutValue(resource, t.attributes())
	for _, extension := range t.extensions {
		if extended, ok := resource[extension.ID].(map[string]any); ok {
			dropWithoutValue(extended, extension.Attributes)
			set(resource, extension.ID, extended)
		}
	}
	return nil
}

// dropWithoutValue removes the records without a value from multi-valued attributes whose records have one.
func dropWithoutValue(resource map[string]any, attributes []*attribute) {
	for _, a := range attributes {
		values, ok := resource[a.Name].([]any)
		if !ok || !a.Multi {
			continue
		}
		set(resource, a.Name, slices.DeleteFunc(values, func(value any) bool {
			record, isRecord := value.(map[string]any)
			_, hasValue := record["value"]
			return empty(value) || isRecord && find(a.Sub, "value") != nil && !hasValue
		}))
	}
}

// patch applies an operation to the attributes of a user.
func (t resourceType) patch(resource map[string]any, op operation) error {
	if op.Path == "" {
		return op.forEach("", func(op operation) error { return t.patch(resource, op) })
	}
	if extension, ok := t.extension(op.Path); ok {
		if op.Op == opRemove {
			delete(resource, extension.ID)
			return nil
		}
		if _, ok := op.Value.(map[string]any); !ok {
			return fault.Errorf(InvalidValue, "%s には、属性の組（オブジェクト）を指定してください。", extension.ID)
		}
		return op.forEach(extension.ID+":", func(op operation) error { return t.patch(resource, op) })
	}
	to, err := t.parsePath(op.Path)
	if err != nil {
		return err
	}
	return to.apply(resource, op)
}

// forEach calls patch for each attribute in the value of an operation, in the order of their names. The paths begin with
// prefix. Names may be paths: Entra ID sends name.givenName, and attributes of an extension with their URN.
func (op operation) forEach(prefix string, patch func(operation) error) error {
	values, ok := op.Value.(map[string]any)
	if !ok {
		return fault.Errorf(InvalidSyntax, "pathのない操作のvalueには、属性の組（オブジェクト）を指定してください。")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := prefix + name
		if isIgnored(path) || strings.EqualFold(path, "schemas") { // Okta repeats the id.
			continue
		}
		if err := patch(operation{Op: op.Op, Path: path, Value: values[name]}); err != nil {
			return err
		}
	}
	return nil
}

// apply applies an operation at the location.
func (to target) apply(resource map[string]any, op operation) error {
	if to.extension == "" {
		return to.applyIn(resource, op)
	}
	extended, _ := resource[to.extension].(map[string]any)
	if extended == nil {
		extended = make(map[string]any)
	}
	err := to.applyIn(extended, op)
	set(resource, to.extension, extended)
	return err
}

// applyIn applies an operation to the attributes of a resource, or of its extension.
func (to target) applyIn(resource map[string]any, op operation) error {
	switch {
	case to.attribute.Multi:
		return to.applyMulti(resource, op)
	case to.sub != nil:
		record, _ := resource[to.attribute.Name].(map[string]any)
		if record == nil {
			record = make(map[string]any)
		}
		err := to.sub.assign(record, op)
		set(resource, to.attribute.Name, record)
		return err
	}
	return to.attribute.assign(resource, op)
}

// assign applies an operation to a single-valued attribute of a record.
func (a *attribute) assign(record map[string]any, op operation) error {
	if op.Op == opRemove {
		delete(record, a.Name)
		return nil
	}
	typed, err := a.value(op.Value)
	if err != nil {
		return err
	}
	if given, ok := typed.(map[string]any); ok { // Parts that are not given keep their values.
		if before, ok := record[a.Name].(map[string]any); ok {
			for name, value := range before {
				if _, replaced := given[name]; !replaced {
					given[name] = value
				}
			}
		}
	}
	set(record, a.Name, typed)
	return nil
}

// applyMulti applies an operation to a multi-valued attribute.
func (to target) applyMulti(resource map[string]any, op operation) error {
	a := to.attribute
	values, _ := resource[a.Name].([]any)
	var err error
	switch {
	case to.where == nil && to.sub == nil:
		values, err = a.combine(values, op)
	default:
		values, err = to.change(values, op)
	}
	if err != nil {
		return err
	}
	if len(values) > maxValues {
		return fault.Errorf(InvalidValue, "%s に指定できる値は%d件までです。", a.Name, maxValues)
	}
	set(resource, a.Name, values)
	return nil
}

// combine adds values to a multi-valued attribute, replaces or removes them.
func (a *attribute) combine(values []any, op operation) ([]any, error) {
	if op.Op == opRemove && empty(op.Value) {
		return nil, nil
	}
	typed, err := a.value(op.Value)
	if err != nil {
		return nil, err
	}
	given, _ := typed.([]any)
	switch op.Op {
	case opReplace:
		return given, nil
	case opRemove: // Entra ID names the values to remove.
		return slices.DeleteFunc(slices.Clone(values), func(value any) bool {
			return slices.ContainsFunc(given, func(g any) bool { return sameValue(g, value) })
		}), nil
	}
	for _, value := range given {
		if slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, value) }) {
			continue
		}
		if isPrimary(value) {
			unsetPrimary(values)
		}
		values = append(values, value)
	}
	return values, nil
}

// sameValue reports whether two records have the same value.
func sameValue(a, b any) bool {
	left, _ := a.(map[string]any)
	right, _ := b.(map[string]any)
	return left["value"] != nil && left["value"] == right["value"]
}

func unsetPrimary(values []any) {
	for _, value := range values {
		if record, ok := value.(map[string]any); ok && isPrimary(record) {
			record["primary"] = false
		}
	}
}

// change applies an operation to the values that the path selects, or to their subattribute. A value that does not
// exist yet is created if the path describes it by comparisons with eq, as identity providers expect.
func (to target) change(values []any, op operation) ([]any, error) {
	a := to.attribute
	selected := make([]map[string]any, 0, len(values))
	rest := make([]any, 0, len(values))
	for _, value := range values {
		record, _ := value.(map[string]any)
		if record != nil && (to.where == nil || a.matches(to.where, record)) {
			selected = append(selected, record)
		} else {
			rest = append(rest, value)
		}
	}
	if op.Op == opRemove && to.sub == nil {
		return rest, nil
	}
	if len(selected) == 0 {
		if op.Op == opRemove || empty(op.Value) {
			return values, nil
		}
		described := make(map[string]any)
		if to.where != nil && !a.describe(to.where, described) {
			return nil, fault.Errorf(NoTarget, "pathの条件に合う値が、%s にありません。", a.Name)
		}
		if isPrimary(described) {
			unsetPrimary(values)
		}
		selected = append(selected, described)
		values = append(values, described)
	}
	for _, record := range selected {
		if err := to.setIn(values, record, op); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// setIn applies an operation to one of the values.
func (to target) setIn(values []any, record map[string]any, op operation) error {
	if to.sub != nil {
		if to.sub.Name == "primary" && strings.EqualFold(toText(op.Value), "true") {
			unsetPrimary(values)
		}
		return to.sub.assign(record, op)
	}
	typed, err := to.attribute.single(op.Value)
	if err != nil {
		return err
	}
	given, _ := typed.(map[string]any)
	if isPrimary(given) {
		unsetPrimary(values)
	}
	for name, value := range given {
		set(record, name, value)
	}
	return nil
}

// describe sets the subattributes that an expression requires. It reports whether the expression consists of
// comparisons with eq.
func (a *attribute) describe(expression filter.Expression, record map[string]any) bool {
	switch e := expression.(type) {
	case *filter.LogicalExpression:
		return e.Operator == filter.AND && a.describe(e.Left, record) && a.describe(e.Right, record)
	case *filter.AttributeExpression:
		sub := find(a.Sub, e.AttributePath.AttributeName)
		if sub == nil || !strings.EqualFold(string(e.Operator), string(filter.EQ)) {
			return false
		}
		typed, err := sub.value(unescape(e.CompareValue))
		set(record, sub.Name, typed)
		return err == nil
	}
	return false
}
