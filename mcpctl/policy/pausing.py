"""The pause of everything: begun by anybody, since it only refuses, and ended by a person. Both are put on record."""

import time

from mcpctl.base.callers import Client
from mcpctl.base.errors import McpctlError, Unusable, warn
from mcpctl.base.fields import PAUSED, RESUMED
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.policy.policy_file import Pause, PolicyFile
from mcpctl.store import clock, sqlite
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.store.state import State, told


def current(paths: Paths) -> Pause | None:
    """The pause of this moment. Makes no database where there is none."""
    if not PolicyFile.is_made(paths):
        return None
    with PolicyFile.connect(paths) as file:
        return file.pause


def pause(paths: Paths, until: float | None, channel: str) -> Pause:
    """Pause everything, until a moment or until a person ends it. A longer pause that there is stays as it is."""
    with PolicyFile.connect(paths) as file, told(), sqlite.transaction(file.db):
        before = file.pause
        is_longer = before and (before.until is None or (until is not None and until <= before.until))
        if before and is_longer:
            return before
        paused = Pause(before.since if before else time.time(), until, channel)
        file.db.execute("DELETE FROM pause")
        file.db.execute("INSERT INTO pause VALUES (?, ?, ?)", paused[:3])
    try:
        with State.connect(paths) as state:
            state.note_policy(again=True)
    except Unusable as error:
        warn(f"a running mcpctl serve without a policy may not notice: {error.message} ({error.hint})")
    _record(paths, PAUSED, paused, channel)
    return paused


def resume(paths: Paths, channel: str) -> Pause | None:
    """End the pause, and return it; None where there is none."""
    if not PolicyFile.is_made(paths):
        return None
    with PolicyFile.connect(paths) as file, told(), sqlite.transaction(file.db):
        paused = file.pause
        file.db.execute("DELETE FROM pause")
    if paused:
        _record(paths, RESUMED, paused, channel)
    return paused


def row(paused: Pause | None) -> Row | None:
    if paused is None:
        return None
    until = clock.iso(paused.until) if paused.until else None
    return {"since": clock.iso(paused.since), "until": until, "channel": paused.channel}


def _record(paths: Paths, decision: str, paused: Pause, channel: str) -> None:
    try:
        recorder = Recorder(paths, config.load(paths.config).records, via="cli")
    except McpctlError as error:  # it is paused, or not any more, all the same
        warn(f"this is not on record: {error.message}")
        return
    recorder.decision_made("*", decision, paused.told, channel=channel, origin=Origin(Client("mcpctl")))
    recorder.flush()
    recorder.close()
