package scim

import (
	"slices"
	"strings"
)

// URNs of the schemas and messages.
const (
	urnUser       = "urn:ietf:params:scim:schemas:core:2.0:User"
	urnGroup      = "urn:ietf:params:scim:schemas:core:2.0:Group"
	urnEnterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	urnSchema     = "urn:ietf:params:scim:schemas:core:2.0:Schema"
	urnType       = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
	urnConfig     = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
	urnList       = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	urnPatch      = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
	urnError      = "urn:ietf:params:scim:api:messages:2.0:Error"
)

// attribute describes an attribute (RFC 7643, section 7). Its JSON is its description in /Schemas.
type attribute struct {
	Name        string       `json:"name"`
	Type        string       `json:"type"`
	Multi       bool         `json:"multiValued"`
	Description string       `json:"description"`
	Required    bool         `json:"required"`
	CaseExact   bool         `json:"caseExact"`
	Mutability  string       `json:"mutability"`
	Returned    string       `json:"returned"`
	Uniqueness  string       `json:"uniqueness,omitempty"`
	References  []string     `json:"referenceTypes,omitempty"`
	Canonical   []string     `json:"canonicalValues,omitempty"` // Usual values. Others are accepted as well.
	Sub         []*attribute `json:"subAttributes,omitempty"`
}

// Types of attributes.
const (
	typeString    = "string"
	typeBoolean   = "boolean"
	typeComplex   = "complex"
	typeReference = "reference"
	typeDateTime  = "dateTime"
)

const (
	readOnly  = "readOnly"
	writeOnly = "writeOnly"
	never     = "never"
)

func newAttribute(name, kind, description string) *attribute {
	return &attribute{
		Name: name, Type: kind, Description: description, Mutability: "readWrite", Returned: "default", Uniqueness: "none",
	}
}

func text(name, description string) *attribute { return newAttribute(name, typeString, description) }

func group(name, description string, sub ...*attribute) *attribute {
	a := newAttribute(name, typeComplex, description)
	a.Sub, a.Uniqueness = sub, ""
	return a
}

func list(name, description string, sub ...*attribute) *attribute {
	a := group(name, description, sub...)
	a.Multi = true
	return a
}

// with returns an attribute after a change.
func (a *attribute) with(change func(*attribute)) *attribute {
	change(a)
	return a
}

func setReadOnly(a *attribute) { a.Mutability = readOnly }

func reference(name, description string, types ...string) *attribute {
	return newAttribute(name, typeReference, description).with(func(a *attribute) {
		a.References, a.CaseExact = types, true
	})
}

// values adds the attributes type, with its usual values, and primary to those of a value. Identity providers offer a
// mapping for each usual value, such as emails[type eq "work"].value.
func values(usual []string, sub ...*attribute) []*attribute {
	return append(sub,
		text("type", "The kind of the value, such as work.").with(func(a *attribute) { a.Canonical = usual }),
		newAttribute("primary", typeBoolean, "Whether this is the preferred value. At most one is."))
}

// schema describes the attributes of a resource, or of an extension.
type schema struct {
	ID          string
	Name        string
	Description string
	Attributes  []*attribute
}

// Usual types of values (RFC 7643, section 8.7.1).
var (
	places = []string{"work", "home", "other"}
	phones = []string{"work", "home", "mobile", "fax", "pager", "other"}
)

var userSchema = schema{urnUser, "User", "A member of the organization", []*attribute{
	text("userName", "The name of the user at the identity provider.").with(func(a *attribute) {
		a.Required, a.Uniqueness = true, "server"
	}),
	group("name", "The parts of the name.",
		text("formatted", "The full name."), text("familyName", "The family name."), text("givenName", "The given name."),
		text("middleName", "The middle name."), text("honorificPrefix", "The title before the name."),
		text("honorificSuffix", "The title after the name.")),
	text("displayName", "The name in the app."),
	text("nickName", "Stored, without effect."),
	reference("profileUrl", "Stored, without effect.", "external"),
	text("title", "Stored, without effect."),
	text("userType", "Stored, without effect."),
	text("preferredLanguage", "Stored, without effect."),
	text("locale", "Stored, without effect."),
	text("timezone", "Stored, without effect."),
	newAttribute("active", typeBoolean, "Whether the member may sign in."),
	text("password", "Accepted and discarded: members sign in at the identity provider.").with(func(a *attribute) {
		a.Mutability, a.Returned = writeOnly, never
	}),
	list("emails", "Addresses. The primary one, or else that of the type work, is the member's address in the app.",
		values(places, text("value", "The address."), text("display", "A name for people."))...),
	list("phoneNumbers", "Stored, without effect.",
		values(phones, text("value", "The number."), text("display", "A name for people."))...),
	list("addresses", "Stored, without effect.", values(places,
		text("formatted", "The full address."), text("streetAddress", "The street."), text("locality", "The city."),
		text("region", "The region."), text("postalCode", "The postal code."), text("country", "The country."))...),
}}

var enterpriseSchema = schema{urnEnterprise, "EnterpriseUser", "Attributes of employees. Stored, without effect.", []*attribute{
	text("employeeNumber", "The number of the employee."), text("costCenter", "The cost center."),
	text("organization", "The organization."), text("division", "The division."), text("department", "The department."),
	group("manager", "The manager.",
		text("value", "The id of the manager.").with(func(a *attribute) { a.CaseExact = true }),
		reference("$ref", "The URI of the manager.", "User").with(setReadOnly),
		text("displayName", "The name of the manager.").with(setReadOnly)),
}}

var groupSchema = schema{urnGroup, "Group", "A group of members, for projects, skills and limits", []*attribute{
	text("displayName", "The name of the group.").with(func(a *attribute) { a.Required, a.Uniqueness = true, "server" }),
	list("members", "The members of the group. Groups in groups are not supported.",
		text("value", "The id of the member.").with(func(a *attribute) { a.CaseExact, a.Mutability = true, "immutable" }),
		reference("$ref", "The URI of the member.", "User").with(setReadOnly),
		text("display", "The name of the member.").with(setReadOnly),
		text("type", "User.").with(func(a *attribute) { a.Mutability = "immutable" })),
}}

// common are the attributes of every resource, which /Schemas does not list (RFC 7643, section 3.1).
var common = []*attribute{
	text("id", "").with(func(a *attribute) { a.CaseExact, a.Mutability, a.Returned = true, readOnly, "always" }),
	text("externalId", "").with(func(a *attribute) { a.CaseExact = true }),
	list("schemas", "").with(func(a *attribute) { a.Type, a.Returned = typeString, "always" }),
	group("meta", "", text("resourceType", ""), newAttribute("created", typeDateTime, ""),
		newAttribute("lastModified", typeDateTime, ""), reference("location", "", "uri"), text("version", "")).with(setReadOnly),
}

// resourceType describes a type of resources.
type resourceType struct {
	name       string
	endpoint   string
	schema     schema
	extensions []schema
}

var (
	userType  = resourceType{"User", "/Users", userSchema, []schema{enterpriseSchema}}
	groupType = resourceType{"Group", "/Groups", groupSchema, nil}
)

// extension returns the extension with a URN, ignoring case.
func (t resourceType) extension(urn string) (schema, bool) {
	i := slices.IndexFunc(t.extensions, func(s schema) bool { return strings.EqualFold(s.ID, urn) })
	if i < 0 {
		return schema{}, false
	}
	return t.extensions[i], true
}

// attributes returns the attributes of the resource type itself.
func (t resourceType) attributes() []*attribute { return slices.Concat(common, t.schema.Attributes) }

// find returns the attribute with a name, ignoring case, or nil.
func find(attributes []*attribute, name string) *attribute {
	i := slices.IndexFunc(attributes, func(a *attribute) bool { return strings.EqualFold(a.Name, name) })
	if i < 0 {
		return nil
	}
	return attributes[i]
}

// resolve returns the attributes of the schema with a URN, and the key of the extension or "". ok is false for an
// unknown URN.
func (t resourceType) resolve(urn string) (attributes []*attribute, key string, ok bool) {
	if urn == "" || strings.EqualFold(urn, t.schema.ID) {
		return t.attributes(), "", true
	}
	extension, ok := t.extension(urn)
	return extension.Attributes, extension.ID, ok
}

// describe returns the record of a schema in /Schemas.
func (s schema) describe(baseURL string) map[string]any {
	return map[string]any{
		"schemas": []string{urnSchema}, "id": s.ID, "name": s.Name, "description": s.Description,
		"attributes": s.Attributes,
		"meta":       map[string]any{"resourceType": "Schema", "location": baseURL + "/Schemas/" + s.ID},
	}
}

// describe returns the record of a type in /ResourceTypes.
func (t resourceType) describe(baseURL string) map[string]any {
	extensions := []map[string]any{}
	for _, s := range t.extensions {
		extensions = append(extensions, map[string]any{"schema": s.ID, "required": false})
	}
	return map[string]any{
		"schemas": []string{urnType}, "id": t.name, "name": t.name, "endpoint": t.endpoint,
		"description": t.schema.Description, "schema": t.schema.ID, "schemaExtensions": extensions,
		"meta": map[string]any{"resourceType": "ResourceType", "location": baseURL + "/ResourceTypes/" + t.name},
	}
}

// serviceConfig returns /ServiceProviderConfig.
func serviceConfig(baseURL string) map[string]any {
	unsupported := map[string]any{"supported": false}
	return map[string]any{
		"schemas": []string{urnConfig},
		"patch":   map[string]any{"supported": true}, "etag": map[string]any{"supported": true},
		"bulk":           map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter":         map[string]any{"supported": true, "maxResults": maxResults},
		"changePassword": unsupported, "sort": unsupported,
		"authenticationSchemes": []map[string]any{{
			"type": "oauthbearertoken", "name": "OAuth Bearer Token", "primary": true,
			"description": "A token that a super-admin of the organization has created",
		}},
		"meta": map[string]any{
			"resourceType": "ServiceProviderConfig", "location": baseURL + "/ServiceProviderConfig",
		},
	}
}
