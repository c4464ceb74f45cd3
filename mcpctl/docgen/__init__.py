"""Man pages, completion scripts and the README's list of commands, generated from the command tree.

`pytest tests/test_docgen.py --snapshot-update --allow-snapshot-deletion` writes the files again.
"""

import re

from mcpctl.docgen import config_page, guides, pages, records_page, scripts
from mcpctl.docgen.tree import Node, whole

BEGIN, END = "<!-- commands: made by mcpctl/docgen from the command tree -->", "<!-- end of commands -->"


def man_pages() -> dict[str, str]:
    """The pages by file name: one for each command and noun, `mcpctl.1`, each kind of file, and each guide."""
    commands = {f"{node.page}.1": pages.page(node) for node in whole().walk()}
    return {
        **commands,
        f"{config_page.NAME}.5": config_page.page(),
        f"{records_page.NAME}.5": records_page.page(),
        **guides.pages(),
    }


def completion_scripts() -> dict[str, str]:
    """The script of each shell, by the file name that the shell looks for."""
    return {"mcpctl.bash": scripts.BASH, "_mcpctl": scripts.ZSH, "mcpctl.fish": scripts.FISH}


def command_reference() -> str:
    """A Markdown table of every command and its summary, grouped by noun."""
    lines = ["| command | |", "|---|---|"]
    for node in whole().children:
        lines += [_row(child) for child in node.walk()]
    return "\n".join(lines)


def with_reference(readme: str) -> str:
    """A README with the command reference between its markers."""
    block = f"{BEGIN}\n{command_reference()}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: block, readme, flags=re.DOTALL)


def _row(node: Node) -> str:
    summary = re.sub(r"([|<*_])", r"\\\1", node.summary)
    words = " ".join(node.path)
    return f"| **`{words}`** | **{summary}** |" if node.children else f"| `{words}` | {summary} |"
