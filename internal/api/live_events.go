package api

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/stream"
)

var (
	_ chat.Events = (*LiveEvents)(nil)
	_ org.Events  = (*LiveEvents)(nil)
)

// LiveEvents publishes domain events as events of GET /v1/live, each encoded once.
type LiveEvents struct {
	feed *stream.Feed
}

// NewLiveEvents returns a publisher on a feed. Live must subscribe to the same feed.
func NewLiveEvents(feed *stream.Feed) *LiveEvents { return &LiveEvents{feed: feed} }

// The topics of the feed.
const topicAll = "all"

func topicOfUser(id uuid.UUID) string         { return "user/" + id.String() }
func topicOfOrganization(id uuid.UUID) string { return "org/" + id.String() }
func topicOfProject(id uuid.UUID) string      { return "project/" + id.String() }

// topicOfAdmins returns the topic for the administrators among the subscribers of a topic.
func topicOfAdmins(topic string) string { return topic + "/admins" }

// topicsOf returns the topics of an actor, who has a role in the projects.
func topicsOf(actor identity.Actor, projects []uuid.UUID) []string {
	organization := topicOfOrganization(actor.OrganizationID)
	topics := []string{topicOfUser(actor.ID), organization, topicAll}
	if actor.Role.IsAdmin() {
		topics = append(topics, topicOfAdmins(organization), topicOfAdmins(topicAll))
	}
	for _, id := range projects {
		topics = append(topics, topicOfProject(id))
	}
	return topics
}

func (e *LiveEvents) ThreadChanged(readers chat.Readers, thread chat.Thread) {
	reader := thread.UserID
	if readers.ProjectID != nil {
		reader = uuid.Nil // All members receive the same event.
	}
	e.publishTo(topicOfReaders(readers), func() any {
		return LiveThread{Type: "thread", Thread: toThread(reader, thread)}
	})
}

func (e *LiveEvents) ThreadDeleted(readers chat.Readers, threadID uuid.UUID) {
	e.publishTo(topicOfReaders(readers), func() any {
		return LiveThreadDeleted{Type: "thread", ID: threadID, Deleted: true}
	})
}

func (e *LiveEvents) MessageChanged(readers chat.Readers, message chat.Message) {
	e.publishTo(topicOfReaders(readers), func() any {
		return LiveMessageChanged{Type: "message", Message: toLiveMessage(message)}
	})
}

func (e *LiveEvents) ToolCallChanged(owner identity.Owner, a chat.ToolApproval) {
	e.publish(owner.UserID, func() any {
		return LiveToolCall{
			Type: "tool_call", ID: a.ID, ThreadID: a.ThreadID, MessageID: a.MessageID, State: ToolApprovalState(a.State),
		}
	})
}

func (e *LiveEvents) MessageDeleted(readers chat.Readers, threadID, messageID uuid.UUID) {
	e.publishTo(topicOfReaders(readers), func() any {
		return LiveMessageDeleted{Type: "message", ID: messageID, ThreadID: threadID, Deleted: true}
	})
}

// topicOfReaders returns the topic of the readers of a thread.
func topicOfReaders(readers chat.Readers) string {
	if readers.ProjectID != nil {
		return topicOfProject(*readers.ProjectID)
	}
	return topicOfUser(readers.UserID)
}

// NotificationPublished implements org.Events. The database notifies every server.
func (e *LiveEvents) NotificationPublished(n org.Notification) {
	e.feed.PublishLocal(topicOfNotice(n),
		encodeEvent(LiveNotification{Type: "notification", Notification: toNotification(n)}))
}

// NotificationEnded implements org.Events. The database notifies every server.
func (e *LiveEvents) NotificationEnded(n org.Notification) {
	e.feed.PublishLocal(topicOfNotice(n), encodeEvent(LiveNotificationEnded{Type: "notification", ID: n.ID, Ended: true}))
}

// topicOfNotice returns the topic of a notice's recipients.
func topicOfNotice(n org.Notification) string {
	topic := topicAll
	if n.OrganizationID != nil {
		topic = topicOfOrganization(*n.OrganizationID)
	}
	if n.Audience == org.AudienceAdmins {
		topic = topicOfAdmins(topic)
	}
	if n.UserID != nil {
		topic = topicOfUser(*n.UserID)
	}
	return topic
}

func (e *LiveEvents) NotificationsMissed() { e.feed.MarkMissed() }

func (e *LiveEvents) NotificationsRead(userID uuid.UUID, ids []uuid.UUID) {
	e.publish(userID, func() any { return LiveNotificationsRead{Type: "notification", Read: ids} })
}

func (e *LiveEvents) SourceChanged(owner identity.Owner, source datasource.Source) {
	e.publish(owner.UserID, func() any { return LiveDataSource{Type: "data_source", DataSource: toDataSource(source)} })
}

func (e *LiveEvents) SourceDeleted(owner identity.Owner, id uuid.UUID) {
	e.publish(owner.UserID, func() any { return LiveDataSourceDeleted{Type: "data_source", ID: id, Deleted: true} })
}

func (e *LiveEvents) ProjectChanged(id uuid.UUID) { e.publishProject(id, "project") }

func (e *LiveEvents) ProjectSourcesChanged(id uuid.UUID) { e.publishProject(id, "data_sources") }

func (e *LiveEvents) publishProject(id uuid.UUID, change string) {
	e.publishTo(topicOfProject(id), func() any { return LiveProject{Type: "project", ID: id, Change: change} })
}

// publish publishes an event to a person who may have subscribers.
func (e *LiveEvents) publish(userID uuid.UUID, event func() any) {
	e.publishTo(topicOfUser(userID), event)
}

// publishTo publishes an event on a topic that may have subscribers.
func (e *LiveEvents) publishTo(topic string, event func() any) {
	if e.feed.HasSubscribers(topic) {
		e.feed.Publish(topic, encodeEvent(event()))
	}
}

// encodeEvent encodes an event.
func encodeEvent(event any) []byte {
	body, err := json.Marshal(event)
	if err != nil {
		panic(err) // Unreachable: events are structs of texts, numbers and valid times.
	}
	return body
}

func toLiveMessage(m chat.Message) LiveMessage {
	whole := toMessage(m)
	return LiveMessage{
		ID: whole.ID, ThreadID: whole.ThreadID, ParentID: whole.ParentID, Author: whole.Author, Queue: whole.Queue,
		Role: whole.Role, Status: whole.Status, Waiting: whole.Waiting,
		FinishReason: whole.FinishReason, Error: whole.Error, Feedback: whole.Feedback,
		CompletedAt: whole.CompletedAt, Decisions: optional(m.Decisions, toDecisions),
	}
}
