"""Man pages and the help of the program, made from the command tree; the guides, from Markdown; the JSON Schema.

`pytest tests/test_docgen.py --snapshot-update --allow-snapshot-deletion` writes the files again.
"""

from mcpctl.docgen import config_page, config_schema, guides, pages, records_page, tree
from mcpctl.main import HELP_WIDTHS


def man_pages() -> dict[str, str]:
    """The pages by file name: one for each command and noun, `mcpctl.1`, each kind of file, and each guide."""
    commands = {f"{node.page}.1": pages.page(node) for node in tree.whole().walk()}
    return {
        **commands,
        f"{config_page.NAME}.5": config_page.page(),
        f"{records_page.NAME}.5": records_page.page(),
        **guides.pages(),
    }


def schema_of_the_configuration() -> str:
    return config_schema.text()


def help_pages() -> str:
    """The output of `mcpctl --help` in each width, with a form feed between the pages."""
    return "\f".join(f"{tree.help_of_the_program(width)}\n" for width in HELP_WIDTHS)
