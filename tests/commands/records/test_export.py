"""`mcpctl records export`; `tests/otlp/` has what is sent, and to whom."""

import subprocess
import sys

import pytest

from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.otlp.receiver import own_receiver
from tests.recorded import two_sessions
from tests.table import for_each


def test_what_was_sent_is_said(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    with own_receiver() as receiver:
        ran = mcpctl("records", "export", "--otlp", receiver.url)
        assert ran.out == f"sent 11 spans and 11 data points of 6 calls to {receiver.url}\n"
        assert mcpctl("records", "export", "--otlp", receiver.url, "--json").json == {
            "calls": 6, "spans": 11, "data_points": 11, "refused_spans": 0, "refused_data_points": 0,
        }  # fmt: skip
        receiver.asked.clear()
        assert "sent 0 spans" in mcpctl("records", "export", "--otlp", receiver.url, "--since", "2101-01-01").out
        assert receiver.asked == []


def test_without_the_extra_it_says_how_to_get_it(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, paths: Paths) -> None:
    for name in [name for name in sys.modules if name.startswith(("mcpctl.otlp.", "opentelemetry.proto"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("mcpctl.otlp.exporting", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.proto", None)
    error = mcpctl("records", "export", "--otlp", "http://127.0.0.1:4318", "--json").error
    assert error["code"] == "otel_missing"
    assert f"{sys.executable} -m pip install 'mcpctl[otel]'" in error["hint"]


@for_each("line", ["calls ls", "sessions ls", "records export --help", "records export"])
@pytest.mark.process
@pytest.mark.slow
def test_the_messages_of_otlp_are_imported_where_spans_are_sent_alone(line: str, paths: Paths) -> None:
    program = "import sys; from mcpctl.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program, *line.split()], capture_output=True, text=True, timeout=60)
    assert "google.protobuf" not in done.stderr.splitlines()[-1].split()
