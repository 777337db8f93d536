package chat

import (
	"sync"
	"time"
)

// How long a new thread is remembered, and how much memory all of them may take. By the time of a second question, which may
// come through another server than the first, it is forgotten.
const (
	freshLife  = 10 * time.Second
	freshBytes = 16 << 20
	freshSize  = 1 << 10 // Of a thread without its skill's prompt, about.
)

// fresh remembers new threads for their first questions, which follow at once as a rule: of them it is known that nothing was
// said, and with which skill they are, and it need not be read before the model is asked. BeginGeneration makes sure that it
// still holds. A thread is given out once; where there are too many, further ones are not remembered.
type fresh struct {
	mu      sync.Mutex
	threads map[turn]freshThread // Guarded by mu.
	order   []turn               // Guarded by mu. As they were put in, those that were given out too.
	bytes   int                  // Guarded by mu. Of threads.
}

type freshThread struct {
	looked Looked
	since  time.Time
}

func (t freshThread) size() int { return freshSize + len(t.looked.Skill.Prompt) }

// put remembers a thread that was just made.
func (f *fresh) put(key turn, looked Looked, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) > 0 {
		if t, there := f.threads[f.order[0]]; there && now.Sub(t.since) < freshLife {
			break
		}
		f.remove(f.order[0])
		f.order = f.order[1:]
	}
	t := freshThread{looked, now}
	if f.bytes+t.size() > freshBytes {
		return
	}
	if f.threads == nil {
		f.threads = make(map[turn]freshThread)
	}
	f.threads[key] = t
	f.order = append(f.order, key)
	f.bytes += t.size()
}

// take gives out what is remembered of a thread.
func (f *fresh) take(key turn, now time.Time) (looked Looked, remembered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, there := f.threads[key]
	f.remove(key)
	return t.looked, there && now.Sub(t.since) < freshLife
}

// remove forgets a thread. It belongs to holders of mu.
func (f *fresh) remove(key turn) {
	if t, there := f.threads[key]; there {
		f.bytes -= t.size()
		delete(f.threads, key)
	}
}
