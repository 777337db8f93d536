// Package project owns projects: files, instructions and threads that several members of an organization share, and the
// grants that decide who may open them. It imports fault, identity, uuidv7, runes, work, org and datasource,
// and does not use the database or HTTP.
package project

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Limits of projects.
const (
	MaxProjects     = 2_000  // Of an organization, without deleted ones.
	MaxSources      = 10_000 // Files of a project.
	MaxGrants       = 200    // Of a project.
	maxAtOnce       = 100    // Files that one call shares.
	maxName         = 100    // In characters.
	maxDescription  = 1_000  // In characters.
	maxInstructions = 32_000 // In characters.
	minRetention    = 30     // Days.
	maxRetention    = 3_650  // Days.
)

// keptFor is the time between the deletion of a project and its removal. Until then it can be restored.
const keptFor = 30 * 24 * time.Hour

// Role is the role of a member in a project.
type Role string

// The roles. Each one may do what the roles before it may do.
const (
	Viewer  Role = "viewer"  // Reads the project and asks in it.
	Editor  Role = "editor"  // Adds and removes files, and edits the instructions.
	Manager Role = "manager" // Grants roles, and changes everything else.
)

// roles are the roles from the weakest to the strongest.
var roles = []Role{Viewer, Editor, Manager}

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return slices.Contains(roles, r) }

// atLeast reports whether r may do what another role may do. "", the role of others than members, may do nothing.
func (r Role) atLeast(other Role) bool { return slices.Index(roles, r) >= slices.Index(roles, other) }

// Project is a project as a member sees it.
type Project struct {
	ID           uuid.UUID
	Name         string
	Description  string
	Instructions string     // For all answers in the project. Empty in lists.
	SkillID      *uuid.UUID // The default skill of new threads. Nil for none.
	Role         Role       // Of the member for whom the project was read.
	Version      int        // From 1. Every change of the project and its grants increments it.
	ArchivedAt   *time.Time // Nil if the project is not archived. Nothing is asked in or added to an archived project.
	DeletedAt    *time.Time // Nil if the project is not deleted.

	RetentionDays *int   // After this time unused threads are deleted. Nil for the organization's setting.
	StorageLimit  *int64 // Bytes. Nil for no limit.

	Sources     int   // Number of files.
	Threads     int   // Number of shared threads, and threads of the member.
	Members     int   // Number of people with a role.
	StorageUsed int64 // Bytes.

	CreatedAt time.Time
	UpdatedAt time.Time
}

// State selects projects in lists.
type State string

// The states.
const (
	Active   State = "active"
	Archived State = "archived"
	Deleted  State = "deleted"
)

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return s == Active || s == Archived || s == Deleted }

// Order is the order of projects in lists.
type Order string

// The orders.
const (
	ByName   Order = "name"
	ByUpdate Order = "updated" // The last changed first.
)

// Valid reports whether o is one of the orders.
func (o Order) Valid() bool { return o == ByName || o == ByUpdate }

// Draft is the input for a project.
type Draft struct {
	Name         string
	Description  string
	Instructions string
	SkillID      *uuid.UUID
}

// Call is a call that creates a project.
type Call struct {
	RequestID   uuid.UUID
	RequestHash [32]byte // Hash of the draft: the same request id with another hash is a conflict.
	ID          uuid.UUID
	Draft       Draft
}

// Edit is the input for a change of a project.
type Edit struct {
	Draft

	Version       int // The version that was edited.
	Archived      bool
	RetentionDays *int
	StorageLimit  *int64
}

// SubjectKind is the kind of a subject.
type SubjectKind string

// The kinds of subjects.
const (
	User         SubjectKind = "user"
	Group        SubjectKind = "group"
	Organization SubjectKind = "organization" // All members of the organization.
)

// Subject is a person, a group, or everyone in the organization.
type Subject struct {
	Kind        SubjectKind
	ID          uuid.UUID
	Name        string
	Email       string // Of a person.
	MemberCount int    // Of a group or the organization.
}

// Grant gives a subject a role in a project.
type Grant struct {
	Subject Subject
	Role    Role
}

// Grants are the grants of a project, with the version of the project.
type Grants struct {
	Version int
	List    []Grant
}

// Member is the name of a member.
type Member struct {
	ID   uuid.UUID
	Name string
}

// Source is a file of a project.
type Source struct {
	datasource.Source

	AddedBy *Member // Nil if the member was removed.
	AddedAt time.Time
	Known   bool // It was in the project before ShareSources.
}

// Managed is a project as administrators see it. It has none of its contents.
type Managed struct {
	ID          uuid.UUID
	Name        string
	Managers    []Member // Active ones, by name; at most 10.
	Sources     int
	Threads     int
	Members     int
	StorageUsed int64
	ArchivedAt  *time.Time
	DeletedAt   *time.Time
	CreatedAt   time.Time
}

// Usage is the use of a project this month, by the calendar of Japan.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
	ByMember     []MemberUsage // Most tokens first.
}

// MemberUsage is the use of a project by a member.
type MemberUsage struct {
	Member       *Member // Nil for removed members.
	Messages     int
	InputTokens  int64
	OutputTokens int64
}

// Codes of errors.
const (
	CodeVersion     fault.Code = "version_conflict" // The project has changed since the version that was edited.
	CodeLastManager fault.Code = "last_manager"     // The project would have no manager.
	CodeByGroup     fault.Code = "member_by_group"  // A group, or the whole organization, has a role in the project.
)

// The errors of projects.
var (
	ErrNoProject   = fault.Errorf(fault.NotFound, "プロジェクトが見つかりません。")
	ErrForbidden   = fault.Errorf(fault.Forbidden, "このプロジェクトでこの操作を行う権限がありません。プロジェクトの管理者にご相談ください。")
	errArchived    = fault.Errorf(fault.Conflict, "このプロジェクトはアーカイブされています。アーカイブを解除してから、もう一度お試しください。")
	ErrLastManager = fault.Errorf(CodeLastManager, "プロジェクトには管理者が必要です。先に、ほかの人を管理者にしてください。")
	ErrByGroup     = fault.Errorf(CodeByGroup, "グループまたは組織全体のメンバーとして参加しているため、退出できません。プロジェクトの管理者にご相談ください。")
	errNotDeleted  = fault.Errorf(fault.Conflict, "このプロジェクトは削除されていません。")
	ErrHasManager  = fault.Errorf(fault.Conflict, "このプロジェクトには管理者がいます。管理者に依頼してください。")
	ErrTooMany     = fault.Errorf(fault.Conflict, "プロジェクトは2,000件まで作成できます。使わないプロジェクトを削除してください。")
	ErrFull        = fault.Errorf(fault.Conflict, "プロジェクトのファイルは10,000件までです。使わないファイルを削除してから、もう一度お試しください。")
	ErrVersion     = fault.Errorf(CodeVersion, "ほかの人がプロジェクトを変更しました。内容を確認してから、もう一度保存してください。")
)

// VersionError is the error of a change of an earlier version of a project. It wraps ErrVersion.
type VersionError struct {
	error

	Current Project
}

// Unwrap returns the fault.
func (e *VersionError) Unwrap() error { return e.error }

// withArchived returns the project archived, or not archived.
func (p Project) withArchived(archived bool) Project {
	switch {
	case !archived:
		p.ArchivedAt = nil
	case p.ArchivedAt == nil:
		p.ArchivedAt = new(time.Now())
	}
	return p
}

// CheckAdd returns an error unless the member may add files to the project.
func (p Project) CheckAdd() error {
	switch {
	case !p.Role.atLeast(Editor):
		return ErrForbidden
	case p.ArchivedAt != nil:
		return errArchived
	}
	return nil
}

// checkRemove returns an error unless the member may remove files from the project.
func (p Project) checkRemove() error {
	if !p.Role.atLeast(Editor) {
		return ErrForbidden
	}
	return nil
}
