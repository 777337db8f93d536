package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// exampleDepth bounds the nesting of an example, because some schemas are recursive.
const exampleDepth = 4

// exampleValues are example texts by format.
var exampleValues = map[string]string{
	"uuid": "0193667e-4a00-7c3e-9b1f-5d2a8e6c7f10", "date-time": "2026-11-25T09:00:00Z", "date": "2026-11-25",
	"email": "hanako@example.co.jp", "uri": "https://example.co.jp/", "byte": "AAAA",
}

// docExample returns an example of a JSON body, or "" for other media types.
func docExample(media string, ref *openapi3.SchemaRef) string {
	if media != "application/json" {
		return ""
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encoder.Encode(exampleOf(ref, exampleDepth)) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// exampleOf returns an example value of a schema.
func exampleOf(ref *openapi3.SchemaRef, depth int) any {
	schema := ref.Value
	switch {
	case schema.Example != nil:
		return schema.Example
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case len(schema.AllOf) > 0:
		return exampleOf(schema.AllOf[0], depth)
	case len(schema.OneOf) > 0:
		return exampleOf(schema.OneOf[0], depth)
	case schema.Items != nil:
		if depth == 0 {
			return []any{}
		}
		return []any{exampleOf(schema.Items, depth-1)}
	case schema.Type.Is("boolean"):
		return true
	case schema.Type.Is("integer"), schema.Type.Is("number"):
		return max(deref(schema.Min), 1)
	case schema.Type.Is("string"):
		if value, ok := exampleValues[schema.Format]; ok {
			return value
		}
		return "…"
	}
	object := map[string]any{}
	if depth > 0 {
		for name, field := range schema.Properties {
			object[name] = exampleOf(field, depth-1)
		}
	}
	return object
}
