"""`mcpctl calls`"""

from mcpctl.commands import options as opt
from mcpctl.commands.calls.export import export
from mcpctl.commands.calls.ls import ls
from mcpctl.commands.calls.replay import replay
from mcpctl.commands.calls.response import response
from mcpctl.commands.calls.show import show
from mcpctl.commands.calls.stats import stats
from mcpctl.commands.calls.tail import tail

app = opt.group("Calls and searches on record.")
app.command()(ls)
app.command()(show)
app.command()(response)
app.command()(tail)
app.command()(replay)
app.command()(stats)
app.command()(export)
