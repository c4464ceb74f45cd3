"""`mcpctl approvals`"""

from mcpctl.commands import options as opt
from mcpctl.commands.approvals.allow import allow
from mcpctl.commands.approvals.deny import deny
from mcpctl.commands.approvals.ls import ls
from mcpctl.commands.approvals.revoke import revoke
from mcpctl.commands.approvals.show import show

app = opt.group("Calls that wait for your consent, and what you said yes to.")
app.command()(ls)
app.command()(show)
app.command()(allow)
app.command()(deny)
app.command()(revoke)
