"""What clients get of prompts and resources: lists, prompts, contents and completions, in both eras."""

import json
from pathlib import Path

import pytest

from mcpctl.catalog.features import EXPLICIT, NAMED_BY, PROMPTS, RESOURCES, Feature, Features, Owner
from mcpctl.failure import Failed, Failure
from mcpctl.models import Tool
from mcpctl.paths import Paths
from tests.proxy.client import LATEST, MODERN
from tests.proxy.in_memory import World, play
from tests.proxy.library import CONTENTS, PROMPT, Library, library

ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
PAIRS = pytest.mark.parametrize(
    ("revision", "modern"), [(LATEST, False), (LATEST, True), (MODERN, False), (MODERN, True)]
)


class Owned(Features):
    """With owners, until features have them."""

    def owner(self, uri: str) -> Owner:
        if uri.startswith(EXPLICIT):
            server, _, own = uri.removeprefix(EXPLICIT).partition(":")
            return Owner(server, own)
        if uri not in self.resources:
            raise Failed(Failure("unknown_resource", {"uri": uri}))
        return Owner(self.resources[uri].server, uri)


def feature(kind: str, server: str, definition: str) -> Feature:
    decoded = json.loads(definition)
    name = decoded[NAMED_BY[kind]]
    return Feature(kind, server, name, Tool(server, f"@{kind}/{name}", decoded, definition))


def see(world: World, *features: Feature, generation: str = "1") -> None:
    """Have clients see these."""
    seen = Owned(features, generation)
    world.gateway.features = lambda view: seen  # type: ignore[method-assign]


NOTE = feature(RESOURCES, "a", '{"uri":"note://a","name":"A","icons":[{"src":"x"}],"size":1.0}')
ASK = feature(PROMPTS, "a", '{"name":"ask me","arguments":[],"_meta":{"x": 1e2}}')


@PAIRS
def test_what_a_server_answers_is_passed_on_as_it_is(home: Path, paths: Paths, revision: str, modern: bool) -> None:
    async def scene(world: World) -> None:
        world.configure()
        world.begin()
        see(world, NOTE, ASK)
        client = await world.client(revision)
        read = await client.request("resources/read", {"uri": "note://a"})
        got = await client.request("prompts/get", {"name": "a_ask me", "arguments": {"q": "w"}, "x": 1})
        assert read["result"]["contents"] == json.loads(CONTENTS)["contents"]
        assert got["result"]["messages"] == json.loads(PROMPT)["messages"]
        first, second = library(world).got
        assert first["uri"] == "note://a"
        assert (second["name"], second["arguments"], second["x"]) == ("ask me", {"q": "w"}, 1)

    play(home, paths, scene, a=lambda: Library(modern=modern))
