"""`mcpctl servers`"""

HELP = "The upstream servers in config.toml."
VERBS = ("ls", "show", "add", "set", "rm", "enable", "disable", "import", "check", "login", "logout", "logs")
