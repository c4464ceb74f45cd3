"""`mcpctl annotate`"""

HELP = "What a team adds to tools: notes, hints and titles, in a toolset."
VERBS = ("add", "edit", "rm", "ls", "set", "check", "schema")
