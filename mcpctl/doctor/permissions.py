"""Who else can read and change mcpctl's files."""

import contextlib
import os
import shlex
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mcpctl.config import exposure
from mcpctl.doctor.finding import Case, Finding, found


def of_files(case: Case) -> Iterator[Finding]:
    """What others can read or change."""
    config, data = case.paths.config, case.paths.data
    with contextlib.suppress(OSError):
        if exposed := exposure.of_config(config, case.config):
            what, mode = exposed
            fix = shlex.join(["chmod", mode, str(config)])
            yield found("D121", what.replace(str(config), "it"), config, fix, partial(_config_closed, case))
    with contextlib.suppress(OSError):
        if opened := exposure.of_data(data):
            names = ", ".join(sorted(path.name for path in opened))
            yield found("D122", f"others can read {names}", data, repair=partial(_data_closed, data))


def of_owners(case: Case) -> Iterator[Finding]:
    """What belongs to somebody else, and what its owner cannot use."""
    paths = case.paths
    files = (paths.index, paths.state, paths.policy, paths.redaction_key, paths.dashboard)
    for path in (paths.config, paths.data, paths.sessions, *files):
        with contextlib.suppress(OSError):
            status = path.stat()
            needed = stat.S_IRWXU if stat.S_ISDIR(status.st_mode) else stat.S_IRUSR | stat.S_IWUSR
            owners = {os.geteuid()}
            if path == paths.config:  # which may be an administrator's, and is only read
                needed, owners = stat.S_IRUSR, {os.geteuid(), 0}
            if status.st_uid not in owners:
                message = f"it belongs to user {status.st_uid}, not to you ({os.geteuid()})"
                yield found("D123", message, path, shlex.join(["sudo", "chown", str(os.geteuid()), str(path)]))
            elif status.st_uid == os.geteuid() and status.st_mode & needed != needed:
                yield found("D124", "you cannot read or write it", path, repair=partial(_opened, path, needed))


def _opened(path: Path, needed: int) -> str:
    path.chmod(stat.S_IMODE(path.stat().st_mode) | needed)
    letters = (
        letter for letter, bit in zip("rwx", (stat.S_IRUSR, stat.S_IWUSR, stat.S_IXUSR), strict=True) if needed & bit
    )
    return f"chmod u+{''.join(letters)} {path}"


def _config_closed(case: Case) -> str:
    path, done = case.paths.config, []
    while (exposed := exposure.of_config(path, case.config)) and exposed[1] not in done:
        bits = stat.S_IMODE(path.stat().st_mode)
        path.chmod(0o600 if exposed[1] == "600" else bits & ~(stat.S_IWGRP | stat.S_IWOTH))
        done.append(exposed[1])
    return f"chmod {' and '.join(done)} {path}"


def _data_closed(data: Path) -> str:
    exposure.close(data)
    return f"closed {data} to other users"
