"""The process in which a document is compiled: it has nothing but its stdin, its stdout and its bounds.

Its arguments are the folders of the packages. On stdin are a line about what is to be made, the document, and the
answers to what it asks for: a line on stdout with a place asks for the file there. The last line there is what is
wrong, or the size of the compiled document, which follows.
"""

import contextlib
import gc
import os
import resource
import signal
import sys

NO_MEMORY = 3
_LOOK_S = 0.5  # how often it looks whether the process that wants the answer is still there


def main() -> int:
    gc.disable()  # the process ends soon, and little that it makes is rubbish
    sys.path[:] = sys.argv[1:]
    parent = os.getppid()
    signal.signal(signal.SIGALRM, lambda *_: None if os.getppid() == parent else os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    import msgspec

    from mcpctl.base import bounds
    from mcpctl.base.errors import McpctlError

    for kind, soft, hard in (
        (resource.RLIMIT_AS, bounds.OPENAPI_MEMORY, bounds.OPENAPI_MEMORY),
        (resource.RLIMIT_CPU, bounds.OPENAPI_S, bounds.OPENAPI_LONGEST_S + 1),  # at the second number it is killed
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # not every system has each of them
            resource.setrlimit(kind, (soft, hard))
    content = b""
    try:
        content = compiled()
        answer = msgspec.json.encode({"size": len(content)})
    except McpctlError as error:
        answer = msgspec.json.encode(error.body)
    except MemoryError:
        return NO_MEMORY
    except Exception:
        import traceback

        answer = msgspec.json.encode({"bug": traceback.format_exc()})
    sys.stdout.buffer.write(answer + b"\n" + content)
    sys.stdout.buffer.flush()
    return 0


def compiled() -> bytes:
    """The compiled document of what is on stdin; raises `WrongDocument`."""
    import hashlib
    import time

    import msgspec

    from mcpctl.base import bounds
    from mcpctl.openapi import document, snapshot
    from mcpctl.openapi.faults import OperationFault
    from mcpctl.openapi.operations import ChosenEntry, Operations
    from mcpctl.openapi.references import References

    given, hashed, size = sys.stdin.buffer, hashlib.sha256(), 0

    def received(name: str) -> document.Text:
        nonlocal size
        answer = msgspec.json.decode(given.readline())
        if "error" in answer:
            raise OperationFault(answer["error"])
        content = given.read(answer["size"])
        hashed.update(content)
        size += len(content)
        if size > bounds.OPENAPI_QUICK:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_CPU, (bounds.OPENAPI_LONGEST_S, bounds.OPENAPI_LONGEST_S + 1))
        return document.Text(content, name)

    def read(place: str) -> document.Text:
        sys.stdout.buffer.write(msgspec.json.encode({"read": place}) + b"\n")
        sys.stdout.buffer.flush()
        return received(place)

    entry = msgspec.json.decode(given.readline(), type=ChosenEntry)
    whole = document.checked(document.value_of(received(entry.name)), entry.name)
    references = References(whole, entry.place, entry.name, read)
    made = Operations(whole, references, entry)
    # The hash is of all that was read, which is known at the end.
    tools = made.compiled("", time.time())
    return snapshot.encoded(msgspec.structs.replace(tools, sha256=hashed.hexdigest()))


if __name__ == "__main__":
    sys.exit(main())
