"""Notes, hints and titles that a team adds to tools."""
