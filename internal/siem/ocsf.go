package siem

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Origin describes the sending installation.
type Origin struct {
	Host    string // The host of the public URL.
	Version string // Of the program.
}

// ocsfVersion is the version of the OCSF schema (https://schema.ocsf.io/1.2.0) whose names are used. test/ocsf has this
// version, and checks the events of every action.
const ocsfVersion = "1.2.0"

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

// other is the id of the activity without an own id.
const other = 99

// activities lists activities with their actions, and with the verbs of actions that are not listed themselves.
var activities = []struct {
	activity

	actions string
}{
	{activity{authentication, 1, "Logon"}, "session.begin session.fail session.refuse address.refuse"},
	{activity{authentication, 2, "Logoff"}, "session.end session.end_all session.revoke"},

	{activity{accountChange, 1, "Create"}, "member.invite member.provision user.create"},
	{activity{accountChange, 3, "Password Change"}, "password.set password.change password.fail"},
	{activity{accountChange, 4, "Password Reset"}, "password.request password.reset"},
	{activity{accountChange, 5, "Disable"}, "user.disable"},
	{activity{accountChange, 6, "Delete"}, "member.remove"},
	{activity{accountChange, 9, "Lock"}, "session.lock"},
	{activity{accountChange, 10, "MFA Factor Enable"}, "session.factor_add session.passkey_add"},
	{activity{accountChange, 11, "MFA Factor Disable"}, "session.factor_remove session.passkey_remove " +
		"member.reset_factor"},
	{activity{accountChange, other, ""}, "member.edit member.resend member.link member.unlink " +
		"member.request_factor_reset session.recovery_codes slack.link slack.unlink"},

	{activity{groupManagement, 5, "Delete"}, "group.delete"},
	{activity{groupManagement, 6, "Create"}, "group.create"},
	{activity{groupManagement, other, ""}, "group.edit group.members"},

	{activity{entityManagement, 1, "Create"}, "create import publish"},
	{activity{entityManagement, 3, "Update"}, "edit update set on off order rotate refresh grants archive " +
		"restore hide show file_add file_remove channel_bind channel_unbind accept change"},
	{activity{entityManagement, 4, "Delete"}, "delete remove end revoke purge reuse"},
	{activity{entityManagement, other, ""}, "reject test connect disconnect call approve deny"},
}

// activityByAction returns activities by actions and verbs.
var activityByAction = sync.OnceValue(func() map[string]activity {
	all := make(map[string]activity)
	for _, a := range activities {
		for _, action := range strings.Fields(a.actions) {
			all[action] = a.activity
		}
	}
	return all
})

// failures are the actions that record a failure or a refusal.
var failures = []org.Action{"session.fail", "session.refuse", "address.refuse", "password.fail"}

// warnings are the actions that an operator should notice.
var warnings = []org.Action{"session.lock", "connection.reuse", "member.reset_factor", "member.request_factor_reset"}

// typeName returns the caption of the class and activity.
func (a activity) typeName() string {
	if a.id == other {
		return classNames[a.class] + ": Other"
	}
	return classNames[a.class] + ": " + a.name
}

// activityOf returns the activity of an action. An unknown action, which a newer server has recorded, is one of an
// entity.
func activityOf(action org.Action) (a activity, known bool) {
	_, verb, _ := strings.Cut(string(action), ".")
	for _, key := range []string{string(action), verb} {
		if a, known = activityByAction()[key]; known {
			break
		}
	}
	if !known {
		a = activity{class: entityManagement, id: other}
	}
	a.name = cmp.Or(a.name, string(action))
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
	if slices.Contains(failures, e.Action) || e.isFailedCall() {
		statusID, status = 2, "Failure"
	}
	metadata := object{
		"version": ocsfVersion, "uid": e.uid(), "event_code": string(e.Action), "log_name": "audit",
		"correlation_uid": e.By.RequestID, "tenant_uid": e.organizationID(),
		"product": compact(object{"name": "Tsumugi", "vendor_name": "Tsumugi", "version": o.Version}),
	}
	if a.class == groupManagement {
		metadata["profiles"] = []any{"host"} // In this class, the profile adds the attribute actor.
	}
	result := object{
		"category_uid": categoryIAM, "category_name": "Identity & Access Management",
		"class_uid": a.class, "class_name": classNames[a.class],
		"activity_id": a.id, "activity_name": a.name,
		"type_uid": a.class*100 + a.id, "type_name": a.typeName(),
		"severity_id": severityID, "severity": severityName, "status_id": statusID, "status": status,
		"time": e.At.UnixMilli(), "count": max(e.Times, 1), "message": string(e.Action),
		"metadata": compact(metadata),
		"actor":    object{"user": e.actor()},
		"unmapped": e.unmapped(),
	}
	if e.By.Address.IsValid() {
		result["src_endpoint"] = object{"ip": e.By.Address.String()}
	}
	if e.LastAt != nil {
		result["start_time"], result["end_time"] = e.At.UnixMilli(), e.LastAt.UnixMilli()
	}
	name, target := e.target(a.class)
	result[name] = target
	if a.class == authentication {
		result["service"] = compact(object{"name": "Tsumugi", "uid": o.Host})
	}
	return compact(result)
}

// target returns the target as the attribute of a class. The attribute is required, so that it has a value for events
// without a target as well.
func (e Event) target(class int) (attribute string, o object) {
	switch class {
	case entityManagement:
		noun, _, _ := strings.Cut(string(e.Action), ".")
		return "entity", compact(object{
			"uid": e.TargetID, "name": e.TargetLabel, "type": cmp.Or(e.TargetKind, noun),
		})
	case groupManagement:
		return "group", compact(object{"uid": e.TargetID, "name": cmp.Or(e.TargetLabel, "unknown")})
	}
	user := object{"uid": e.TargetID, "name": cmp.Or(e.TargetLabel, "unknown")}
	if strings.Contains(e.TargetLabel, "@") {
		user["email_addr"] = e.TargetLabel
	}
	return "user", compact(user)
}

// isFailedCall reports whether the event is a call of a tool that has failed.
func (e Event) isFailedCall() bool {
	return e.Action == org.ActionToolCall && slices.ContainsFunc(e.Details, func(c org.Change) bool {
		return c.Field == "outcome" && c.After != "success"
	})
}

func (e Event) organizationID() string {
	if e.OrganizationID == nil {
		return ""
	}
	return e.OrganizationID.String()
}

// actor returns the actor as OCSF's object user, which needs a name or an id.
func (e Event) actor() object {
	user := object{
		"name":       cmp.Or(e.By.Name, e.By.Email, string(e.By.Kind)),
		"email_addr": e.By.Email, "type": string(e.By.Kind),
	}
	if e.By.ID != nil {
		user["uid"] = e.By.ID.String()
	}
	if e.OrganizationID != nil && e.By.Kind == org.ByMember {
		user["org"] = compact(object{"uid": e.organizationID(), "name": e.OrganizationName})
	}
	return compact(user)
}

// unmapped returns the values without an attribute of OCSF.
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
