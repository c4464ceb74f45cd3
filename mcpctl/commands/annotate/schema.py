"""`mcpctl annotate schema`"""


def schema() -> None:
    """Print the JSON Schema of toolset files. Editors use it to complete and check them.

    Examples:
      mcpctl annotate schema > toolset.schema.json
    """
    import json

    from mcpctl import output
    from mcpctl.toolsets.schema import SCHEMA

    output.write_lines(iter(json.dumps(SCHEMA, indent=2).splitlines()))
