"""`mcpctl toolsets`"""

from mcpctl.commands import options as opt
from mcpctl.commands.toolsets.add import add
from mcpctl.commands.toolsets.build import build
from mcpctl.commands.toolsets.equip import equip
from mcpctl.commands.toolsets.ls import ls
from mcpctl.commands.toolsets.rm import rm
from mcpctl.commands.toolsets.show import show
from mcpctl.commands.toolsets.unequip import unequip

app = opt.group("Named lists of tools, with a team's notes and hints.")
app.command()(ls)
app.command()(show)
app.command()(build)
app.command()(add)
app.command()(rm)
app.command()(equip)
app.command()(unequip)
