import sys
import typer
from mcpctl.commands.serve import serve
app=typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(serve)
@app.callback()
def root()->None: ...
def main(args=None): app(args)
