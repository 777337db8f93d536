package skill

// Icons is icons, for tests.
func Icons() []string { return icons() }

// Validate is Skill.validate, for tests.
func Validate(s Skill) error { return s.validate() }
