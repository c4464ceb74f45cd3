"""`mcpctl servers`"""

from mcpctl.commands import options as opt
from mcpctl.commands.servers.add import add
from mcpctl.commands.servers.check import check
from mcpctl.commands.servers.disable import disable
from mcpctl.commands.servers.enable import enable
from mcpctl.commands.servers.import_ import import_
from mcpctl.commands.servers.login import login
from mcpctl.commands.servers.logout import logout
from mcpctl.commands.servers.logs import logs
from mcpctl.commands.servers.ls import ls
from mcpctl.commands.servers.rm import rm
from mcpctl.commands.servers.set import set
from mcpctl.commands.servers.show import show

app = opt.group("The upstream servers in config.toml.")
app.command()(ls)
app.command()(show)
app.command()(add)
app.command()(set)
app.command()(rm)
app.command()(enable)
app.command()(disable)
app.command("import")(import_)
app.command()(check)
app.command()(login)
app.command()(logout)
app.command()(logs)
