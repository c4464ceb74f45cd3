"""Named lists of tools, with a team's notes and hints."""
