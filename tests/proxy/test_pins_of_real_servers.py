"""Real servers, connected to again and again by clients that can do more and less: nothing is held."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.callers import Caller
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.proxy.gateway import Gateway
from tests.proxy.client import LATEST, write_config

pytestmark = [pytest.mark.process, pytest.mark.slow]
CAPABILITIES = (b"{}", b'{"elicitation":{},"roots":{},"sampling":{}}')


def test_no_connection_to_a_real_server_finds_a_change(home: Path, paths: Paths, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "repository")], check=True)
    servers: dict[str, Any] = {
        "weather": [sys.executable, "-m", "mcpctl.demo.weather"],
        "time": [sys.executable, "-m", "mcp_server_time"],
        "git": [sys.executable, "-m", "mcp_server_git"],
    }
    write_config(home, servers, policy={"mode": "enforce"})

    async def connected(capabilities: bytes) -> list[Any]:
        gateway = Gateway(config.load(paths.config), paths)
        try:
            failures = await gateway.refresh(servers, Caller(LATEST, b'{"name":"test","version":"1"}', capabilities))
            assert failures == {}
            return list(gateway.incoming.drifts)
        finally:
            await gateway.stop()

    assert [asyncio.run(connected(each)) for each in CAPABILITIES] == [[]] * len(CAPABILITIES)
