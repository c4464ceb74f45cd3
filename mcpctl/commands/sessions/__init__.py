"""`mcpctl sessions`"""

from mcpctl.commands import options as opt
from mcpctl.commands.sessions.ls import ls
from mcpctl.commands.sessions.show import show
from mcpctl.commands.sessions.stats import stats

app = opt.group("Sessions on record.")
app.command()(ls)
app.command()(show)
app.command()(stats)
