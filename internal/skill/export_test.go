package skill

// Icons is icons, for tests.
func Icons() []string { return icons() }
