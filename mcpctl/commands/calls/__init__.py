"""`mcpctl calls`"""

HELP = "Calls and searches on record."
VERBS = ("ls", "show", "response", "tail", "replay", "stats", "export")
