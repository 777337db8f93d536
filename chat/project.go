package chat

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// ThreadPlace is where a thread is: in no project, or in a project as a private or a shared thread.
type ThreadPlace struct {
	ProjectID *uuid.UUID
	Shared    bool
}

// Audience describes what sharing a thread with a project shows to its members.
type Audience struct {
	Members   int      // Active members with access to the project.
	Files     []string // The names of the attached files.
	Questions int
}

// MoveThread moves a thread of the actor into a project, or out of projects. Sharing it with the project ends its Share.
func (s *Service) MoveThread(ctx context.Context, actor identity.Actor, id uuid.UUID, to ThreadPlace) (Thread, error) {
	owner := actor.Owner()
	before, after, err := s.store.MoveThread(ctx, owner, id, to, org.AuditActorOf(actor))
	if err != nil {
		return Thread{}, err
	}
	if before.Shared && (!after.Shared || before.Project.ID != after.Project.ID) {
		s.events.ThreadDeleted(before.readers(owner.OrganizationID), id)
	}
	s.publishThread(owner, after)
	return after, nil
}

// Audience returns the Audience of the owner's thread in a project.
func (s *Service) Audience(ctx context.Context, owner identity.Owner, threadID, projectID uuid.UUID) (Audience, error) {
	return s.store.Audience(ctx, owner, threadID, projectID)
}
