"""`mcpctl db`"""

from mcpctl.commands import options as opt
from mcpctl.commands.db.path import path
from mcpctl.commands.db.rebuild import rebuild

app = opt.group("The data directory.")
app.command()(path)
app.command()(rebuild)
