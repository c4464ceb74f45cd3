"""`mcpctl policy`"""

HELP = "What may be called: why, and whether the rules say what is meant."
VERBS = ("explain", "check", "hook", "import")
