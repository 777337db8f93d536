package org

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Action is the name of an action in the audit log.
type Action string

// The actions of the audit log.
const (
	ActionInvite    Action = "member.invite"
	ActionResend    Action = "member.resend"
	ActionEdit      Action = "member.edit"
	ActionRemove    Action = "member.remove"
	ActionProvision Action = "member.provision" // Added by their first single sign-on, or by SCIM.
	// Linked by the first single sign-on of a member with the same address.
	ActionLink             Action = "member.link"
	actionUnlink           Action = "member.unlink"
	actionFactorReset      Action = "member.reset_factor"
	actionFactorRequest    Action = "member.request_factor_reset" // Of a super-admin; another administrator must confirm it.
	ActionFactorPolicy     Action = "factor_policy.edit"
	ActionSessionEnd       Action = "session.revoke" // Ended by its owner on another device, or by an administrator.
	ActionSessionLimits    Action = "session_limits.edit"
	ActionAddressRanges    Action = "address_ranges.edit"
	ActionAddressRefused   Action = "address.refuse" // A member's request from outside of them.
	ActionInstructions     Action = "instructions.edit"
	ActionModels           Action = "models.edit"
	ActionRetention        Action = "retention.edit"
	ActionRetentionDelete  Action = "retention.delete" // One entry a day.
	ActionMemberLimit      Action = "member_limit.edit"
	ActionSAMLTest         Action = "saml.test"
	ActionOrganization     Action = "organization.create"
	ActionOrganizationEdit Action = "organization.edit"
	ActionDeletion         Action = "organization.delete" // The time of the deletion, set or canceled. Of no organization.
	ActionContract         Action = "contract.set"
	actionUserCreate       Action = "user.create"
	actionUserDisable      Action = "user.disable"
	ActionPublish          Action = "notification.publish"
	ActionNoticeEdit       Action = "notification.edit"
	actionNoticeEnd        Action = "notification.end"
	ActionNoticeDelete     Action = "notification.delete"
	ActionSkillImport      Action = "skill.import"
	ActionSkillCreate      Action = "skill.create" // Skills of the organization, like the following ones.
	ActionSkillEdit        Action = "skill.edit"
	ActionSkillArchive     Action = "skill.archive"
	ActionSkillRestore     Action = "skill.restore"
	ActionSkillPublish     Action = "skill.publish" // A member's own skill was approved.
	ActionSkillReject      Action = "skill.reject"
	ActionSkillHide        Action = "skill.hide"
	ActionSkillShow        Action = "skill.show"
	ActionCategoryCreate   Action = "category.create"
	ActionCategoryEdit     Action = "category.edit"
	ActionCategoryRemove   Action = "category.remove"
	ActionCategoryOrder    Action = "category.order"
	ActionKeysRotate       Action = "keys.rotate"
	ActionSecretRotate     Action = "secret.rotate"
	ActionSlackEdit        Action = "slack.edit"
	ActionSlackRemove      Action = "slack.remove"
	ActionSlackLink        Action = "slack.link"
	ActionSlackUnlink      Action = "slack.unlink"
	ActionShare            Action = "share.create"
	ActionShareUpdate      Action = "share.update"
	ActionShareEnd         Action = "share.end"
	ActionConnect          Action = "connection.create"
	ActionDisconnect       Action = "connection.end"
	// A code or refresh token was used twice, and the connection ended.
	ActionConnectionReused Action = "connection.reuse"
	ActionConnectionPolicy Action = "connection_policy.edit"
	ActionDictation        Action = "dictation.edit"
	ActionGroupCreate      Action = "group.create"
	ActionGroupEdit        Action = "group.edit"
	ActionGroupDelete      Action = "group.delete"
	ActionGroupMembers     Action = "group.members"
	ActionProjectCreate    Action = "project.create"
	ActionProjectEdit      Action = "project.edit"
	ActionProjectGrants    Action = "project.grants"
	ActionProjectArchive   Action = "project.archive" // Archived, or not archived any more.
	ActionProjectDelete    Action = "project.delete"
	ActionProjectRestore   Action = "project.restore"
	ActionProjectPurge     Action = "project.purge"
	ActionProjectFileAdd   Action = "project.file_add"
	ActionProjectFileDrop  Action = "project.file_remove"
	ActionProjectBind      Action = "project.channel_bind" // A channel of Slack.
	ActionProjectUnbind    Action = "project.channel_unbind"
	ActionToolCall         Action = "tool.call"         // By the assistant in an answer, or by a connected program.
	ActionToolApprove      Action = "tool_call.approve" // By the person whose question is answered.
	ActionToolDeny         Action = "tool_call.deny"
	ActionSignInFailed     Action = "session.fail"
	ActionSCIMTokenCreate  Action = "scim_token.create" //nolint:gosec // The name of an action.
	ActionSCIMTokenRevoke  Action = "scim_token.revoke" //nolint:gosec // The name of an action.
	ActionToolServerAdd    Action = "tool_server.create"
	ActionToolServerEdit   Action = "tool_server.edit"
	ActionToolServerRemove Action = "tool_server.delete"
	ActionToolConnect      Action = "tool_server.connect" // A member's connection by OAuth.
	ActionToolDisconnect   Action = "tool_server.disconnect"
	ActionToolEdit         Action = "tool.edit"   // Its rule and marks.
	ActionToolAccept       Action = "tool.accept" // A changed definition.
	ActionToolChange       Action = "tool.change" // The server has changed the definition.
)

// EventKind is a category of entries of the audit log.
type EventKind string

// The kinds of entries.
const (
	SignIns        EventKind = "sign_in" // Sign-ins and passwords.
	Administration EventKind = "administration"
	ToolCalls      EventKind = "tool" // Calls of tools by the assistant.
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{
		ActionInvite, ActionResend, ActionEdit, ActionRemove, ActionProvision, ActionLink, actionUnlink,
		actionFactorReset, actionFactorRequest, ActionFactorPolicy,
		ActionSessionEnd, ActionSessionLimits, ActionAddressRanges, ActionAddressRefused, ActionInstructions, ActionModels,
		ActionMemberLimit,
		ActionRetention, ActionRetentionDelete,
		"saml.edit", "saml.on", "saml.off", "saml.refresh", ActionSAMLTest, "oidc.edit", "oidc.on", "oidc.off",
		ActionOrganization, ActionOrganizationEdit,
		ActionDeletion, ActionContract, actionUserCreate, actionUserDisable, ActionPublish,
		ActionNoticeEdit, actionNoticeEnd, ActionNoticeDelete,
		ActionSkillImport, ActionSkillCreate, ActionSkillEdit, ActionSkillArchive, ActionSkillRestore,
		ActionSkillPublish, ActionSkillReject, ActionSkillHide, ActionSkillShow,
		ActionCategoryCreate, ActionCategoryEdit, ActionCategoryRemove, ActionCategoryOrder, ActionKeysRotate,
		ActionSecretRotate, ActionSlackEdit, ActionSlackRemove, ActionSlackLink,
		ActionSlackUnlink, ActionShare, ActionShareUpdate, ActionShareEnd,
		ActionConnect, ActionDisconnect, ActionConnectionReused, ActionConnectionPolicy, ActionDictation,
		ActionGroupCreate, ActionGroupEdit, ActionGroupDelete, ActionGroupMembers,
		ActionProjectCreate, ActionProjectEdit, ActionProjectGrants, ActionProjectArchive, ActionProjectDelete,
		ActionProjectRestore, ActionProjectPurge, ActionProjectFileAdd, ActionProjectFileDrop, ActionProjectBind, ActionProjectUnbind,
		ActionToolApprove, ActionToolDeny,
		ActionSCIMTokenCreate, ActionSCIMTokenRevoke,
		ActionToolServerAdd, ActionToolServerEdit, ActionToolServerRemove, ActionToolConnect, ActionToolDisconnect,
		ActionToolEdit, ActionToolAccept, ActionToolChange, ActionToolCall,

		// Package identity/pool logs these, and identity/sso some of them.
		"session.begin", ActionSignInFailed, "session.lock", "session.end", "session.end_all", "session.refuse",
		"password.request", "password.reset", "password.set", "password.change", "password.fail",
		"session.factor_add", "session.factor_remove", "session.recovery_codes",
		"session.passkey_add", "session.passkey_remove",
	}
}

// ActorKind is the kind of an actor.
type ActorKind string

// The kinds of actors.
const (
	ByMember   ActorKind = "user"
	ByOperator ActorKind = "operator" // A person on the command line.
	BySystem   ActorKind = "system"
	ByUnknown  ActorKind = "unknown" // An unauthenticated person.

	ByProvisioning ActorKind = "provisioning" // An identity provider, with the name of its token.
)

// AuditActor is the actor of an entry, with their network address.
type AuditActor struct {
	Kind      ActorKind
	ID        *uuid.UUID // For a member.
	Name      string     // Of a member, an operator's account on the machine, or a token for provisioning.
	Email     string
	Address   netip.Addr // The zero Addr if unknown.
	RequestID string
}

// AuditActorOf returns the AuditActor of a signed-in person.
func AuditActorOf(actor identity.Actor) AuditActor {
	return AuditActor{
		Kind: ByMember, ID: &actor.ID, Name: actor.Name, Email: actor.Email, Address: actor.Address,
		RequestID: actor.RequestID,
	}
}

// Operator returns the AuditActor for a person on the command line, by the name of their account.
func Operator(name string) AuditActor { return AuditActor{Kind: ByOperator, Name: name} }

// System returns the AuditActor for the server itself.
func System() AuditActor { return AuditActor{Kind: BySystem} }

// Kinds of targets.
const (
	TargetUser         = "user"
	TargetOrganization = "organization"
	TargetContract     = "contract"
	TargetSAML         = "saml"
	TargetOIDC         = "oidc"
	TargetSCIMToken    = "scim_token"
	TargetNotification = "notification"
	TargetSkill        = "skill"
	TargetCategory     = "category"
	TargetKey          = "key"
	TargetShare        = "share"
	TargetConnection   = "connection"
	TargetSlack        = "slack"
	TargetGroup        = "group"
	TargetProject      = "project"
	TargetToolServer   = "tool_server"
	TargetTool         = "tool"
)

// Change is a changed field. It must not contain secrets.
type Change struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Event is an entry of the audit log. It is written in the transaction of the change that it records.
type Event struct {
	ID             uuid.UUID  // Set by the store.
	At             time.Time  // Set by the store.
	OrganizationID *uuid.UUID // Nil for no particular organization.
	By             AuditActor
	Action         Action
	TargetKind     string
	TargetID       string
	TargetLabel    string // A name for people, such as an address.
	Details        []Change
	Times          int        // For events counted by the hour: how often it happened,
	LastAt         *time.Time // and the last time. Nil if it happened once.
}

// MaxEvents limits the number of counted entries.
const MaxEvents = 10_000

// AuditQuery selects entries of the audit log. Zero values select all.
type AuditQuery struct {
	OrganizationID *uuid.UUID // Nil selects entries of all organizations, and of none.
	Kind           EventKind
	Action         Action
	Search         string // Part of the actor's name or address, or of the target's label.
	From, To       time.Time
	Offset, Limit  int
}

// AuditEvents returns a page of the audit log of the actor's organization, newest first, and the number of entries, at
// most MaxEvents. For administrators.
func (s *Service) AuditEvents(ctx context.Context, actor identity.Actor, query AuditQuery) ([]Event, int, error) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	query.OrganizationID = &actor.OrganizationID
	return s.store.ListEvents(ctx, query)
}

// EachAuditEvent calls do for entries of the audit log of the actor's organization, newest first. For administrators.
func (s *Service) EachAuditEvent(ctx context.Context, actor identity.Actor, query AuditQuery, do func(Event)) error {
	if err := administers(actor); err != nil {
		return err
	}
	query.OrganizationID = &actor.OrganizationID
	return s.store.EachEvent(ctx, query, do)
}

// ClientCall is a call of a tool of this server by a connected program, through the Model Context Protocol.
type ClientCall struct {
	Tool, Title string
	Failed      bool
	Duration    time.Duration
}

// RecordClientCall adds a call by the actor's program to the audit log.
func (s *Service) RecordClientCall(ctx context.Context, actor identity.Actor, call ClientCall) error {
	return s.store.RecordClientCall(ctx, actor, call)
}
