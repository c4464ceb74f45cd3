"""`mcpctl prompts`"""

HELP = "The prompts of all servers."
VERBS = ("ls", "get")
