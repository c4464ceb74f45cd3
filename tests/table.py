"""A table of lines in one test: each line is tried, and those that fail are told."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., None]


def for_each(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Try a test with each of these, as `parametrize` does, in one case: what its fixtures make, all lines share."""
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [line if len(named) > 1 else (line,) for line in values]
    assert table, "a table without lines claims nothing"

    def of_all(test: Test) -> Test:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            failures = []
            for line in table:
                try:
                    test(**fixtures, **dict(zip(named, line, strict=True)))
                except Exception as failure:  # whatever it is, the other lines are tried
                    failure.add_note(f"the line: {', '.join(map(repr, line))}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} lines", failures)

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in named]
        assert len(left) + len(named) == len(signature.parameters), f"{test.__name__} takes no {named}"
        tried.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return tried

    return of_all
