"""`mcpctl prompts`"""

from mcpctl.commands import options as opt
from mcpctl.commands.prompts.get import get
from mcpctl.commands.prompts.ls import ls

app = opt.group("The prompts of all servers.")
app.command()(ls)
app.command()(get)
