"""`mcpctl toolsets`"""

HELP = "Named lists of tools, with a team's notes and hints."
VERBS = ("ls", "show", "build", "add", "rm", "equip", "unequip")
