"""`mcpctl tokens`"""

from mcpctl.commands import options as opt
from mcpctl.commands.tokens.create import create
from mcpctl.commands.tokens.ls import ls
from mcpctl.commands.tokens.revoke import revoke

app = opt.group("Tokens, without which a policy may let nothing be found or called.")
app.command()(create)
app.command()(ls)
app.command()(revoke)
