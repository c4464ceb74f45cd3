"""Man pages, completion scripts and the README's list of commands: made from the command tree, so that none can drift.

`pytest tests/test_docgen.py --snapshot-update --allow-snapshot-deletion` writes them anew.
"""

import re

from mcpctl.docgen import config_page, pages, records_page, scripts
from mcpctl.docgen.tree import Node, whole

BEGIN, END = "<!-- commands: made by mcpctl/docgen from the command tree -->", "<!-- end of commands -->"


def man_pages() -> dict[str, str]:
    """The pages by file name: one for each command and noun, `mcpctl.1`, and one for each kind of file."""
    commands = {f"{node.page}.1": pages.page(node) for node in whole().walk()}
    return {
        **commands,
        f"{config_page.NAME}.5": config_page.page(),
        f"{records_page.NAME}.5": records_page.page(),
    }


def completion_scripts() -> dict[str, str]:
    """The script of each shell, by the file name that the shell looks for."""
    return {"mcpctl.bash": scripts.BASH, "_mcpctl": scripts.ZSH, "mcpctl.fish": scripts.FISH}


def command_reference() -> str:
    """Every command and what it does, as Markdown, grouped by noun."""
    lines = ["| command | |", "|---|---|"]
    for node in whole().children:
        lines += [_row(each) for each in node.walk()]
    return "\n".join(lines)


def with_reference(readme: str) -> str:
    """A README with the command reference between its markers."""
    block = f"{BEGIN}\n{command_reference()}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: block, readme, flags=re.DOTALL)


def _row(node: Node) -> str:
    told = re.sub(r"([|<*_])", r"\\\1", node.summary)
    words = " ".join(node.path)
    return f"| **`{words}`** | **{told}** |" if node.children else f"| `{words}` | {told} |"
