"""`mcpctl sessions`"""

HELP = "Sessions on record."
VERBS = ("ls", "show", "stats")
