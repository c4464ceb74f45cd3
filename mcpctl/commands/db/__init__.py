"""`mcpctl db`"""

HELP = "The data directory."
VERBS = ("path", "rebuild")
