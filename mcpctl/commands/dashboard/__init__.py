"""`mcpctl dashboard`"""

from mcpctl.commands import options as opt
from mcpctl.commands.command_line import Commands
from mcpctl.commands.dashboard.dashboard import dashboard
from mcpctl.commands.dashboard.token import token

app = Commands(rich_markup_mode=None, context_settings=opt.HELP, subcommand_metavar="[COMMAND]")
app.callback(invoke_without_command=True)(dashboard)
app.command()(token)
