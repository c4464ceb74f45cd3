"""`mcpctl resources`"""

HELP = "The resources of all servers."
VERBS = ("ls", "read")
