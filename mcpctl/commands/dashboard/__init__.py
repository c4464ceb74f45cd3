"""`mcpctl dashboard`, which is a command by itself: its help is that of `dashboard.py`."""

HELP = None
VERBS = ("token",)
