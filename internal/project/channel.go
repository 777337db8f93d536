package project

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// MaxChannels is the maximum number of channels that are bound to a project.
const MaxChannels = 20

// Channel is a channel of a chat service, such as Slack, that is bound to a project: questions of the project's members
// are asked in the project.
type Channel struct {
	ID             uuid.UUID // Of the binding.
	InstallationID uuid.UUID
	Channel        string  // The id of the channel in the chat service.
	Name           string  // The name of the channel when it was bound.
	BoundBy        *Member // Nil if the member was removed.
	BoundAt        time.Time
}

// Label returns the name and the id of the channel for the audit log.
func (c Channel) Label() string { return strings.TrimSpace(c.Name + " (" + c.Channel + ")") }

// Binding is the project that a channel is bound to.
type Binding struct {
	ID      uuid.UUID
	Project Project // Only ID, Name, SkillID, Role, ArchivedAt and DeletedAt. Role is empty for others than members.
}

// Errors of channels.
var (
	ErrNoManaged = fault.Errorf(fault.NotFound,
		"この名前の、あなたが管理しているプロジェクトはありません。プロジェクトの名前を確認してください。")
	ErrSameName = fault.Errorf(fault.Conflict,
		"この名前のプロジェクトを複数管理しているため、どのプロジェクトか分かりません。名前を変えてから、もう一度お試しください。")
	ErrBound = fault.Errorf(fault.Conflict,
		"このチャンネルは、すでに別のプロジェクトと連携しています。連携を解除してから、もう一度お試しください。"+
			"解除できるのは、そのプロジェクトの管理者と、組織の管理者です。")
	ErrManyChannels = fault.Errorf(fault.Conflict,
		"一つのプロジェクトと連携できるチャンネルは%d件までです。使わないチャンネルの連携を解除してください。", MaxChannels)
	ErrNoChannel = fault.Errorf(fault.NotFound, "チャンネルの連携が見つかりません。")
)

// FindChannel returns the project that a channel is bound to, also an archived or deleted one, or nil.
func (s *Service) FindChannel(ctx context.Context, owner identity.Owner, installationID uuid.UUID, channel string) (
	*Binding, error,
) {
	return s.store.FindChannel(ctx, owner, installationID, channel)
}

// BindChannel binds a channel to the project with a name that the actor manages, and returns the project. If the
// channel is bound to that project, it changes nothing.
func (s *Service) BindChannel(ctx context.Context, actor identity.Actor, name string, c Channel) (Project, error) {
	p, err := s.store.BindChannel(ctx, actor, name, c, func(p Project) error {
		switch {
		case !p.Role.atLeast(Manager):
			return ErrNoManaged
		case p.ArchivedAt != nil:
			return errArchived
		}
		return nil
	})
	if err == nil {
		s.cfg.Changed(p.ID)
	}
	return p, err
}

// UnbindChannel removes the binding of a channel. For the managers of its project, and for administrators.
func (s *Service) UnbindChannel(ctx context.Context, actor identity.Actor, projectID, id uuid.UUID) error {
	err := s.store.UnbindChannel(ctx, actor, projectID, id, checkLifecycle)
	if err == nil {
		s.cfg.Changed(projectID)
	}
	return err
}

// Channels returns the channels that are bound to a project of the actor, oldest binding first.
func (s *Service) Channels(ctx context.Context, actor identity.Actor, id uuid.UUID) ([]Channel, error) {
	return s.store.ListChannels(ctx, actor.Owner(), id)
}
