package siem

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Origin describes the sending installation.
type Origin struct {
	Host    string // The host of the public URL.
	Version string // Of the program.
}

// ocsfVersion is the version of the OCSF schema (https://schema.ocsf.io/1.3.0) whose names are used.
const ocsfVersion = "1.3.0"

// Classes of OCSF's category Identity & Access Management.
const (
	categoryIAM      = 3
	accountChange    = 3001
	authentication   = 3002
	entityManagement = 3004
	groupManagement  = 3006
)

var classNames = map[int]string{
	accountChange: "Account Change", authentication: "Authentication", entityManagement: "Entity Management",
	groupManagement: "Group Management",
}

// activity is an activity of an OCSF class.
type activity struct {
	class int
	id    int
	name  string // "" for other, whose name is the action.
}

const other = 99

// activities are the activities of actions, and of the verbs of actions that are not listed themselves.
var activities = map[string]activity{
	"session.begin": {authentication, 1, "Logon"}, "session.fail": {authentication, 1, "Logon"},
	"session.refuse": {authentication, 1, "Logon"}, "address.refuse": {authentication, 1, "Logon"},
	"session.end": {authentication, 2, "Logoff"}, "session.end_all": {authentication, 2, "Logoff"},
	"session.revoke": {authentication, 2, "Logoff"},

	"member.invite": {accountChange, 1, "Create"}, "member.provision": {accountChange, 1, "Create"},
	"user.create": {accountChange, 1, "Create"}, "user.disable": {accountChange, 5, "Disable"},
	"member.remove": {accountChange, 6, "Delete"}, "session.lock": {accountChange, 9, "Lock"},
	"password.set": {accountChange, 3, "Password Change"}, "password.change": {accountChange, 3, "Password Change"},
	"password.fail": {accountChange, 3, "Password Change"}, "password.request": {accountChange, 4, "Password Reset"},
	"password.reset":        {accountChange, 4, "Password Reset"},
	"session.factor_add":    {accountChange, 10, "MFA Factor Enable"},
	"session.factor_remove": {accountChange, 11, "MFA Factor Disable"},
	"member.reset_factor":   {accountChange, 11, "MFA Factor Disable"},
	"member.edit":           {accountChange, other, ""}, "member.resend": {accountChange, other, ""},
	"member.link": {accountChange, other, ""}, "member.unlink": {accountChange, other, ""},
	"member.request_factor_reset": {accountChange, other, ""}, "session.recovery_codes": {accountChange, other, ""},
	"slack.link": {accountChange, other, ""}, "slack.unlink": {accountChange, other, ""},

	"group.create": {groupManagement, 6, "Create"}, "group.delete": {groupManagement, 5, "Delete"},
	"group.edit": {groupManagement, other, ""}, "group.members": {groupManagement, other, ""},

	"create": {entityManagement, 1, "Create"}, "import": {entityManagement, 1, "Create"},
	"publish": {entityManagement, 1, "Create"},
	"edit":    {entityManagement, 3, "Update"}, "update": {entityManagement, 3, "Update"},
	"set": {entityManagement, 3, "Update"}, "on": {entityManagement, 3, "Update"},
	"off": {entityManagement, 3, "Update"}, "order": {entityManagement, 3, "Update"},
	"rotate": {entityManagement, 3, "Update"}, "refresh": {entityManagement, 3, "Update"},
	"grants": {entityManagement, 3, "Update"}, "archive": {entityManagement, 3, "Update"},
	"restore": {entityManagement, 3, "Update"}, "hide": {entityManagement, 3, "Update"},
	"show":   {entityManagement, 3, "Update"},
	"delete": {entityManagement, 4, "Delete"}, "remove": {entityManagement, 4, "Delete"},
	"end": {entityManagement, 4, "Delete"}, "revoke": {entityManagement, 4, "Delete"},
	"purge": {entityManagement, 4, "Delete"}, "reuse": {entityManagement, 4, "Delete"},
	"reject": {entityManagement, other, ""}, "test": {entityManagement, other, ""},
}

// failures are the actions that record a failure or a refusal.
var failures = []org.Action{"session.fail", "session.refuse", "session.lock", "address.refuse", "password.fail"}

// warnings are the actions without a failure that an operator should notice.
var warnings = []org.Action{"session.lock", "connection.reuse", "member.reset_factor", "member.request_factor_reset"}

// activityOf returns the activity of an action. An unknown action, which a newer server has recorded, is one of an
// entity.
func activityOf(action org.Action) (a activity, known bool) {
	_, verb, _ := strings.Cut(string(action), ".")
	for _, key := range []string{string(action), verb} {
		if a, known = activities[key]; known {
			break
		}
	}
	if !known {
		a = activity{class: entityManagement, id: other}
	}
	if a.name == "" {
		a.name = string(action)
	}
	return a, known
}

// severity returns OCSF's severity.
func severity(action org.Action) (id int, name string) {
	switch {
	case slices.Contains(warnings, action):
		return 3, "Medium"
	case slices.Contains(failures, action):
		return 2, "Low"
	}
	return 1, "Informational"
}

// object is a JSON object.
type object = map[string]any

// compact returns o without empty values.
func compact(o object) object {
	maps.DeleteFunc(o, func(_ string, v any) bool {
		text, isText := v.(string)
		list, isObject := v.(object)
		return isText && text == "" || isObject && len(list) == 0
	})
	return o
}

// event returns an event in OCSF's form. Times are in milliseconds.
func (o Origin) event(e Event) object {
	a, _ := activityOf(e.Action)
	severityID, severityName := severity(e.Action)
	statusID, status := 1, "Success"
	if slices.Contains(failures, e.Action) {
		statusID, status = 2, "Failure"
	}
	result := object{
		"category_uid": categoryIAM, "category_name": "Identity & Access Management",
		"class_uid": a.class, "class_name": classNames[a.class],
		"activity_id": a.id, "activity_name": a.name,
		"type_uid": a.class*100 + a.id, "type_name": classNames[a.class] + ": " + a.name,
		"severity_id": severityID, "severity": severityName, "status_id": statusID, "status": status,
		"time": e.At.UnixMilli(), "count": max(e.Times, 1), "message": string(e.Action),
		"metadata": compact(object{
			"version": ocsfVersion, "uid": e.UID(), "event_code": string(e.Action), "log_name": "audit",
			"correlation_uid": e.By.RequestID, "tenant_uid": e.organizationID(),
			"product": compact(object{"name": "Tsumugi", "vendor_name": "Tsumugi", "version": o.Version}),
		}),
		"actor":    compact(object{"user": e.actor()}),
		"unmapped": e.unmapped(),
	}
	if e.By.Address.IsValid() {
		result["src_endpoint"] = object{"ip": e.By.Address.String()}
	}
	if e.LastAt != nil {
		result["start_time"], result["end_time"] = e.At.UnixMilli(), e.LastAt.UnixMilli()
	}
	switch a.class {
	case entityManagement:
		result["entity"] = compact(object{"uid": e.TargetID, "name": e.TargetLabel, "type": e.TargetKind})
	case groupManagement:
		result["group"] = compact(object{"uid": e.TargetID, "name": e.TargetLabel})
	default:
		user := object{"uid": e.TargetID, "name": cmp.Or(e.TargetLabel, "unknown")}
		if strings.Contains(e.TargetLabel, "@") {
			user["email_addr"] = e.TargetLabel
		}
		result["user"] = compact(user)
	}
	if a.class == authentication {
		result["service"] = compact(object{"name": "Tsumugi", "uid": o.Host})
	}
	return compact(result)
}

func (e Event) organizationID() string {
	if e.OrganizationID == nil {
		return ""
	}
	return e.OrganizationID.String()
}

// actor returns the actor as OCSF's object user.
func (e Event) actor() object {
	user := object{"name": e.By.Name, "email_addr": e.By.Email, "type": string(e.By.Kind)}
	if e.By.ID != nil {
		user["uid"] = e.By.ID.String()
	}
	if e.OrganizationID != nil && e.By.Kind == org.ByMember {
		user["org"] = compact(object{"uid": e.organizationID(), "name": e.OrganizationName})
	}
	return compact(user)
}

// unmapped returns what OCSF has no attributes for.
func (e Event) unmapped() object {
	details := make([]any, len(e.Details))
	for i, c := range e.Details {
		details[i] = compact(object{"field": c.Field, "before": c.Before, "after": c.After})
	}
	return compact(object{
		"action": string(e.Action), "actor_kind": string(e.By.Kind), "target_kind": e.TargetKind,
		"organization_name": e.OrganizationName, "details": details,
	})
}
