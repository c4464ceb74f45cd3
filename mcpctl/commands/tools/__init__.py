"""`mcpctl tools`"""

from mcpctl.commands import options as opt
from mcpctl.commands.tools.allow import allow
from mcpctl.commands.tools.approve import approve
from mcpctl.commands.tools.call import call
from mcpctl.commands.tools.check import check
from mcpctl.commands.tools.deny import deny
from mcpctl.commands.tools.diff import diff
from mcpctl.commands.tools.eval import eval
from mcpctl.commands.tools.export import export
from mcpctl.commands.tools.lock import lock
from mcpctl.commands.tools.ls import ls
from mcpctl.commands.tools.refresh import refresh
from mcpctl.commands.tools.search import search
from mcpctl.commands.tools.show import show

app = opt.group("The tools of all servers.")
app.command()(ls)
app.command()(search)
app.command()(eval)
app.command()(show)
app.command()(call)
app.command()(refresh)
app.command()(export)
app.command()(check)
app.command()(diff)
app.command()(approve)
app.command()(lock)
app.command()(deny)
app.command()(allow)
