"""`mcpctl annotate`"""

from mcpctl.commands import options as opt
from mcpctl.commands.annotate.add import add
from mcpctl.commands.annotate.check import check
from mcpctl.commands.annotate.edit import edit
from mcpctl.commands.annotate.ls import ls
from mcpctl.commands.annotate.rm import rm
from mcpctl.commands.annotate.schema import schema
from mcpctl.commands.annotate.set import set

app = opt.group("What a team adds to tools: notes, hints and titles, in a toolset.")
app.command()(add)
app.command()(edit)
app.command()(rm)
app.command()(ls)
app.command()(set)
app.command()(check)
app.command()(schema)
