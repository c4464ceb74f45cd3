"""`mcpctl resources`"""

from mcpctl.commands import options as opt
from mcpctl.commands.resources.ls import ls
from mcpctl.commands.resources.read import read

app = opt.group("The resources of all servers.")
app.command()(ls)
app.command()(read)
