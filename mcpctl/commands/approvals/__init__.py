"""`mcpctl approvals`"""

HELP = "Calls that wait for your consent, and what you said yes to."
VERBS = ("ls", "show", "allow", "deny", "revoke")
