"""Where in a file's text the values of its JSON are."""

from mcpctl.toolsets.toolset import Place


class Positions:
    """Lines and columns, both from 1, of places in JSON text that has been read already."""

    def __init__(self, text: str) -> None:
        import json_source_map

        try:
            self._found = json_source_map.calculate(text)
        except RecursionError:  # deeper than any toolset is
            self._found = {}

    def of(self, place: Place) -> tuple[int, int]:
        """Where the value there begins; what cannot be found is where that is which it is in."""
        for end in range(len(place), -1, -1):
            entry = self._found.get("".join(f"/{name}" for name in place[:end]))
            if entry is not None:
                return entry.value_start.line + 1, entry.value_start.column + 1
        return 1, 1
