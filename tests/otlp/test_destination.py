"""Where spans and metrics go, by options and by the variables of OpenTelemetry."""

from typing import Any

import pytest

from mcpctl import __version__
from mcpctl.base.errors import WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.otlp.destination import destination
from tests.conftest import Mcpctl
from tests.otlp.receiver import METRICS, TRACES, OwnReceiver
from tests.recorded import two_sessions
from tests.table import for_each

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
HERE = "http://127.0.0.1:4318"
_RESOURCE = {"service.name": "mcpctl", "service.version": __version__}


@for_each(
    "url, env, traces, metrics",
    [
        (HERE, {}, HERE + TRACES, HERE + METRICS),
        (HERE + "/", {}, HERE + TRACES, HERE + METRICS),
        (HERE + "/v1/traces", {}, HERE + TRACES, HERE + METRICS),
        ("https://a.example/otlp/", {}, "https://a.example/otlp/v1/traces", "https://a.example/otlp/v1/metrics"),
        ("https://a.example/o?k=v", {}, "https://a.example/o/v1/traces?k=v", "https://a.example/o/v1/metrics?k=v"),
        ("http://localhost:1", {}, "http://localhost:1/v1/traces", "http://localhost:1/v1/metrics"),
        ("http://[::1]:1", {}, "http://[::1]:1/v1/traces", "http://[::1]:1/v1/metrics"),
        (None, {ENDPOINT: HERE}, HERE + TRACES, HERE + METRICS),
        (None, {TRACES_ENDPOINT: HERE + "/as/it/is"}, HERE + "/as/it/is", ""),
        (None, {TRACES_ENDPOINT: "https://t.example/t", ENDPOINT: HERE}, "https://t.example/t", HERE + METRICS),
        ("https://a.example", {TRACES_ENDPOINT: HERE, ENDPOINT: HERE}, "https://a.example/v1/traces",
         "https://a.example/v1/metrics"),
    ],
)  # fmt: skip
def test_options_go_before_variables(url: str | None, env: dict[str, str], traces: str, metrics: str) -> None:
    assert destination(url, (), env)[:2] == (traces, metrics)


@for_each(
    "url, env, words",
    [
        (None, {}, "no receiver is named"),
        ("", {ENDPOINT: ""}, "no receiver is named"),
        ("http://collector.example:4318", {}, "--otlp would send records to collector.example without encryption"),
        ("http://10.0.0.1", {}, "--otlp would send records to 10.0.0.1 without encryption"),
        (None, {ENDPOINT: "http://a.example"}, f"{ENDPOINT} would send records to a.example without encryption"),
        (None, {TRACES_ENDPOINT: "http://a.example"}, f"{TRACES_ENDPOINT} would send records to a.example"),
        (None, {TRACES_ENDPOINT: HERE, ENDPOINT: "nowhere"}, f"{ENDPOINT} is not the address of a receiver"),
        ("https://ann:secret@a.example", {}, "--otlp has a name or password"),
        *((url, {}, "--otlp is not the address of a receiver") for url in (
            "127.0.0.1:4318", "grpc://127.0.0.1:4317", "https://", "https://a.example:port", "https://a b", "ftp://a",
            "https://a.example#part", "https://a.example\n", "http://[::1", "https://søk.example", "file:///etc",
        )),
    ],
)  # fmt: skip
def test_other_addresses_are_refused_with_words(url: str | None, env: dict[str, str], words: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        destination(url, (), env)
    assert words in refused.value.message
    assert "secret" not in refused.value.message + refused.value.hint
    assert refused.value.hint


@for_each(
    "given, env, expected",
    [
        ((), {"OTEL_EXPORTER_OTLP_HEADERS": "Api-Key=k%2C1, x = y "}, {"api-key": "k,1", "x": "y"}),
        (("API-KEY=b", "z=a=b"), {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a"}, {"api-key": "b", "z": "a=b"}),
        (("authorization=Bearer ${KEY}",), {"KEY": "k"}, {"authorization": "Bearer k"}),
        ((), {"OTEL_EXPORTER_OTLP_HEADERS": "api-key"}, {}),
    ],
)
def test_headers_are_those_of_the_variable_and_of_the_options(
    given: tuple[str, ...], env: dict[str, str], expected: dict[str, str]
) -> None:
    assert destination(HERE, given, env).headers == expected


@for_each(
    "given, words",
    [
        ("api-key", "--header is not NAME=VALUE"),
        ("=secret", "HTTP does not allow the header ''"),
        ("a b=secret", "HTTP does not allow the header 'a b'"),
        ("a=sec\nret", "HTTP does not allow the header 'a', or its value"),
        ("a=secrèt", "HTTP does not allow the header 'a', or its value"),
        ("content-type=text/plain", "the header content-type says how spans are sent"),
        ("Host=secret", "the header host says how spans are sent"),
        ("a=${NOT_SET}", "the header 'a' cannot be made: variable NOT_SET is not set"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(given: str, words: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        destination(HERE, [given], {})
    assert words in refused.value.message
    assert "secret" not in refused.value.message


@for_each(
    "env, expected",
    [
        ({}, _RESOURCE),
        ({"OTEL_SERVICE_NAME": "gate"}, {**_RESOURCE, "service.name": "gate"}),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=a,host.name=h%20b"},
         {**_RESOURCE, "service.name": "a", "host.name": "h b"}),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=a", "OTEL_SERVICE_NAME": "b"}, {**_RESOURCE, "service.name": "b"}),
        ({"OTEL_RESOURCE_ATTRIBUTES": "rubbish"}, _RESOURCE),
        ({"OTEL_SERVICE_NAME": "half\udcff"}, {**_RESOURCE, "service.name": "half?"}),
    ],
)  # fmt: skip
def test_the_resource_is_that_of_the_variables(env: dict[str, str], expected: dict[str, str]) -> None:
    assert destination(HERE, (), env).resource == expected


def test_variables_alone_are_enough(
    mcpctl: Mcpctl, paths: Paths, receiver: OwnReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sessions(paths)
    monkeypatch.setenv(TRACES_ENDPOINT, receiver.url + TRACES)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "gate")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    assert mcpctl("records", "export").code == 0
    (asked,) = receiver.asked
    assert asked.headers["api-key"] == "k"
    resource: Any = asked.traces.resource_spans[0].resource
    assert {each.key: each.value.string_value for each in resource.attributes} == {
        **_RESOURCE, "service.name": "gate", "deployment.environment.name": "test",
    }  # fmt: skip


def test_no_receiver_is_wrong_usage(mcpctl: Mcpctl) -> None:
    ran = mcpctl("records", "export")
    assert ran.code == 2
    assert "no receiver is named" in ran.err
    assert mcpctl("records", "export", "--otlp", HERE, "--since", "soon").code == 2
