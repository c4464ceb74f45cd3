"""`mcpctl config schema`"""


def schema() -> None:
    """Print the JSON Schema of config.toml.

    Editors complete and check the file by it. A new config.toml names it in its first line, as Taplo and Even Better
    TOML read it; put that line into an older one yourself. The schema is made from the tables that check the file, but
    only mcpctl config check knows all of its rules.

    Examples:
      mcpctl config schema > config.schema.json
      sed -i '1i #:schema ./config.schema.json' config.toml
    """
    from mcpctl import output
    from mcpctl.config.editing import SCHEMA

    output.write_lines(iter(SCHEMA.read_text(encoding="utf-8").splitlines()))
