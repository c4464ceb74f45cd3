"""`mcpctl policy`"""

from mcpctl.commands import options as opt
from mcpctl.commands.policy.check import check
from mcpctl.commands.policy.explain import explain
from mcpctl.commands.policy.hook import hook
from mcpctl.commands.policy.import_ import import_

app = opt.group("What may be called: why, and whether the rules say what is meant.")
app.command()(explain)
app.command()(check)
app.command()(hook)
app.command("import")(import_)
