"""`mcpctl tools`"""

HELP = "The tools of all servers."
VERBS = (
    "ls", "search", "eval", "show", "call", "refresh", "export", "check", "diff", "approve", "lock", "deny", "allow",
)  # fmt: skip
