"""Where in a file's text the values of its JSON are."""

import json

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
            for ascii_only in (False, True):
                entry = self._found.get(_pointer(place[:end], ascii_only))
                if entry is not None:
                    return entry.value_start.line + 1, entry.value_start.column + 1
        return 1, 1


def _pointer(place: Place, ascii_only: bool) -> str:
    """The place as the source map names it: with its members as the file writes them, escapes included."""
    return "".join(f"/{json.dumps(str(name), ensure_ascii=ascii_only)[1:-1]}" for name in place)
