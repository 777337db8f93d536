package api_test

import (
	"net/http"
	"slices"
	"testing"
)

// TestSCIMSchemasHaveMappingOfEntraID expects the target attributes of Entra ID's default mapping in /Schemas. As
// Microsoft's workflow for its gallery does, it forms their names from the attributes: name.givenName for a part, and
// emails[type eq "work"].value for each usual type of a list. The workflow also expects externalId, which RFC 7643
// (section 3.1) leaves out as an attribute of every resource.
func TestSCIMSchemasHaveMappingOfEntraID(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	var names []string
	for _, schema := range p.scim(http.StatusOK, "GET", "/Schemas", nil)["Resources"].([]any) {
		prefix := ""
		if id := at(schema, "id").(string); id == scimEnterprise {
			prefix = id + ":"
		}
		for _, attribute := range at(schema, "attributes").([]any) {
			for _, name := range mappingNames(attribute.(fields)) {
				names = append(names, prefix+name)
			}
		}
	}
	for _, name := range []string{
		"userName", "active", "displayName", "title", `emails[type eq "work"].value`, "preferredLanguage",
		"name.givenName", "name.familyName", "name.formatted", `addresses[type eq "work"].formatted`,
		`addresses[type eq "work"].streetAddress`, `addresses[type eq "work"].locality`,
		`addresses[type eq "work"].region`, `addresses[type eq "work"].postalCode`, `addresses[type eq "work"].country`,
		`phoneNumbers[type eq "work"].value`, `phoneNumbers[type eq "mobile"].value`, `phoneNumbers[type eq "fax"].value`,
		scimEnterprise + ":employeeNumber", scimEnterprise + ":department", scimEnterprise + ":manager", "members",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("/Schemas lacks %s", name)
		}
	}
}

// mappingNames returns the names of an attribute in mappings.
func mappingNames(attribute fields) (names []string) {
	name := attribute["name"].(string)
	if attribute["type"] != "complex" || name == "manager" || name == "members" {
		return []string{name}
	}
	parts := attribute["subAttributes"].([]any)
	types := []string{"."}
	if attribute["multiValued"] == true {
		types = nil
		for _, part := range parts {
			usual, _ := at(part, "canonicalValues").([]any)
			for _, value := range usual {
				types = append(types, `[type eq "`+value.(string)+`"].`)
			}
		}
	}
	for _, part := range parts {
		for _, kind := range types {
			names = append(names, name+kind+at(part, "name").(string))
		}
	}
	return names
}
