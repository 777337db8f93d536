package skill

import "sync"

// followUps are the kinds that answer further questions in threads of the browser extension, by the threads' kind.
func followUps() map[Kind]Kind {
	return map[Kind]Kind{
		KindEasyExplain: KindEasyExplanationFollowUp, KindEasyExplanationFollowUp: KindEasyExplanationFollowUp,
		KindPageWholeSummary: KindPageWholeSummaryFollowUp, KindPageWholeSummaryFollowUp: KindPageWholeSummaryFollowUp,
	}
}

// builtinByKind reads the embedded files once.
var builtinByKind = sync.OnceValue(func() map[Kind]Skill {
	_, skills, err := Builtin()
	if err != nil {
		panic("skill: " + err.Error()) // Seed has read the same files.
	}
	byKind := make(map[Kind]Skill, len(skills))
	for _, s := range skills {
		byKind[s.Kind] = s
	}
	return byKind
})

// OfExtension reports whether threads with this skill begin with a page in the browser extension. Such skills are not
// listed, and the first question of their threads, which holds the page, is always sent to the model.
func (s Skill) OfExtension() bool { return followUps()[s.Kind] != "" }

// FollowUp returns the skill that answers further questions in a thread with this one: another one in threads of the
// browser extension, otherwise the skill itself.
func (s Skill) FollowUp() Skill {
	if kind := followUps()[s.Kind]; kind != "" {
		return builtinByKind()[kind]
	}
	return s
}

// Extension returns the built-in skill of a kind of the browser extension.
func Extension(kind Kind) (Skill, bool) {
	if followUps()[kind] == "" {
		return Skill{}, false
	}
	s, ok := builtinByKind()[kind]
	return s, ok
}
