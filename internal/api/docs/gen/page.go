package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/tsumugi-ai/tsumugi/internal/api/scope"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

//go:embed page.html.tmpl
var pageTemplate string

// The data of the template. Descriptions are Markdown.
type (
	docType struct{ Prefix, Ref, Text string }
	docItem struct {
		Name, In, Description string
		Required              bool
		Type                  docType
	}
	docContent struct {
		Media, Example string
		Type           docType
	}
	docBody struct {
		docContent

		Fields []docItem
	}
	docResponse struct {
		Status, Description string
		Contents            []docContent // By media type.
	}
	docOperation struct {
		ID, Method, Path, Summary, Description string
		Public                                 bool
		Scopes                                 []identity.Scope
		Parameters                             []docItem
		Body                                   *docBody
		Responses                              []docResponse
	}
	docGroup struct {
		Name, Title, Description string
		Operations               []docOperation
	}
	docSchema struct {
		Name, Description string
		Type              docType
		Fields            []docItem
	}
	docPage struct {
		Title, Version, Description string
		Groups                      []docGroup
		Schemas                     []docSchema
	}
)

// render returns an OpenAPI document as a page. The page loads nothing from other origins and runs no script.
func render(document []byte) ([]byte, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, err
	}
	page := docPage{Title: doc.Info.Title, Version: doc.Info.Version, Description: doc.Info.Description}
	for _, tag := range doc.Tags {
		title, _ := tag.Extensions["x-displayName"].(string)
		page.Groups = append(page.Groups, docGroup{tag.Name, title, tag.Description, docOperations(doc, tag.Name)})
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		schema := doc.Components.Schemas[name].Value
		page.Schemas = append(page.Schemas, docSchema{
			name, schema.Description,
			typeOf(&openapi3.SchemaRef{Value: schema}), docFields(schema),
		})
	}
	tmpl, err := template.New("page").Funcs(template.FuncMap{"markdown": docMarkdown}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = tmpl.Execute(&b, page)
	return b.Bytes(), err
}

// docMarkdown converts a description to HTML. It drops HTML in the description.
func docMarkdown(source string) (template.HTML, error) {
	var b strings.Builder
	err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert([]byte(source), &b)
	return template.HTML(b.String()), err //nolint:gosec // The source is openapi.yaml, and HTML in it is left out.
}

func docOperations(doc *openapi3.T, tag string) []docOperation {
	var out []docOperation
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			op := item.GetOperation(method)
			if op == nil || !slices.Contains(op.Tags, tag) {
				continue
			}
			d := docOperation{
				ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, Description: op.Description,
				Public: op.Security != nil, Scopes: scope.Of(method + " " + path),
				Parameters: docParameters(append(slices.Clone(item.Parameters), op.Parameters...)),
				Responses:  docResponses(op.Responses),
			}
			if op.RequestBody != nil {
				for media, content := range op.RequestBody.Value.Content { // Each body has one media type.
					d.Body = &docBody{docContentOf(media, content), docFields(content.Schema.Value)}
				}
			}
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b docOperation) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func docParameters(parameters openapi3.Parameters) []docItem {
	var out []docItem
	for _, p := range parameters {
		out = append(out, docItem{
			p.Value.Name, p.Value.In, p.Value.Description, p.Value.Required,
			typeOf(p.Value.Schema),
		})
	}
	return out
}

func docResponses(responses *openapi3.Responses) []docResponse {
	var out []docResponse
	for _, status := range slices.Sorted(maps.Keys(responses.Map())) {
		response := responses.Value(status).Value
		d := docResponse{Status: status, Description: *response.Description}
		for _, media := range slices.Sorted(maps.Keys(response.Content)) {
			content := docContentOf(media, response.Content[media])
			if status == "default" {
				content.Example = ""
			}
			d.Contents = append(d.Contents, content)
		}
		out = append(out, d)
	}
	return out
}

func docContentOf(media string, content *openapi3.MediaType) docContent {
	return docContent{Media: media, Example: docExample(media, content.Schema), Type: typeOf(content.Schema)}
}

func docFields(schema *openapi3.Schema) []docItem {
	var out []docItem
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		out = append(out, docItem{
			Name: name, Description: field.Value.Description, Required: slices.Contains(schema.Required, name),
			Type: typeOf(field),
		})
	}
	return out
}

// typeOf describes a type in a few words, with a link for a named type.
func typeOf(ref *openapi3.SchemaRef) docType {
	if ref.Ref != "" {
		return docType{Ref: ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]}
	}
	schema := ref.Value
	if schema.Items != nil {
		t := typeOf(schema.Items)
		t.Prefix = "list of " + t.Prefix
		return t
	}
	if schema.OneOf != nil {
		return docType{Text: "one of " + strings.Join(docNames(schema.OneOf), ", ")}
	}
	text := strings.Join(schema.Type.Slice(), " ")
	if schema.Format != "" {
		text += " (" + schema.Format + ")"
	}
	if len(schema.Enum) > 0 {
		values := make([]string, len(schema.Enum))
		for i, v := range schema.Enum {
			values[i] = fmt.Sprint(v)
		}
		text = strings.Join(values, " | ")
	}
	if schema.Max != nil {
		text += fmt.Sprintf(", %v–%v", deref(schema.Min), *schema.Max)
	}
	if schema.MaxLength != nil {
		text += fmt.Sprintf(", up to %d characters", *schema.MaxLength)
	}
	return docType{Text: text}
}

func docNames(refs openapi3.SchemaRefs) []string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		t := typeOf(ref)
		names[i] = t.Prefix + cmp.Or(t.Ref, t.Text)
	}
	return names
}

func deref(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}
