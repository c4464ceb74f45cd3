"""The process in which a path is applied to JSON: it has nothing but its stdin, its stdout and its bounds.

Its arguments are the folder of the package jmespath, the seconds and bytes of memory that it may take, and the most
bytes that it may give. On stdin are the expression, a JSON string on a line, and the value. Status 0: the result is on
stdout; 1: why there is none; whatever else: it went beyond its bounds.
"""

import contextlib
import json
import resource
import sys


def main(packages: str, seconds: int, memory: int, most: int) -> int:
    for kind, bound in (
        (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        with contextlib.suppress(OSError, ValueError):  # not every system has each of them
            resource.setrlimit(kind, (bound, bound))
    sys.path.append(packages)
    try:
        import jmespath

        expression = json.loads(sys.stdin.buffer.readline())
        selected = jmespath.compile(expression).search(json.load(sys.stdin.buffer))
        is_text = isinstance(selected, str)
        text = selected if is_text else json.dumps(selected, ensure_ascii=False, allow_nan=False)
        output, status = text.encode("utf-8", "replace"), 0
        if len(output) > most:
            output, status = f"it gives {len(output):,} bytes, more than {most >> 20} MB".encode(), 1
    except (MemoryError, RecursionError) as error:
        output, status = f"it goes too far ({type(error).__name__})".encode(), 1
    except Exception as error:
        output, status = str(error).encode("utf-8", "replace"), 1
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
