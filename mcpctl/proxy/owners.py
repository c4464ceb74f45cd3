"""Prompts and resources as one caller sees them: which there are, and which server each belongs to."""

import asyncio
from collections.abc import Collection

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.feature_names import EXPLICIT
from mcpctl.catalog.features import FeatureOwner, Features
from mcpctl.policy.decide import admitted
from mcpctl.policy.view import View
from mcpctl.proxy.gateway import Gateway

UNKNOWN = frozenset(("unknown_prompt", "unknown_resource"))
"""The codes of what nobody is known to have."""
_NOTHING = Features((), "")
_LOOK_S = 10.0
"""How long a name that is not known waits for servers of which nothing is; a person waits as long as they take."""


class Owners:
    """Tells whose a prompt or resource is. A read goes to one server alone: a URI may be a secret."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def seen(self, caller: Caller) -> tuple[View, Features]:
        """The view of this caller, and what it may have; raises `Failed` where nothing may be had."""
        view = self._gateway.view(caller)
        return view, self.features(view)

    def features(self, view: View) -> Features:
        """The features that may be had from this view; raises `Failed` where nothing may."""
        return self._gateway.features(admitted(view))

    def listable(self, caller: Caller) -> Features:
        """The features that this caller may list at this moment."""
        try:
            return self.seen(caller)[1]
        except Failed:
            return _NOTHING

    async def owner(self, uri: str, caller: Caller) -> FeatureOwner:
        """The owner of a URI, also of servers of which nothing was known; raises `Failed`."""
        try:
            return self.seen(caller)[1].owner(uri)
        except Failed as error:
            if error.failure.code not in UNKNOWN:
                raise
        await self.look([uri], caller)
        await self._gateway.current()
        view, features = self.seen(caller)
        try:
            return features.owner(uri)
        except Failed as error:
            raise Failed(self.why_unknown(uri, view) or error.failure) from None

    async def look(self, names: Collection[str], caller: Caller) -> None:
        """Get to know what is kept, and then what servers list of which nothing is that may have these."""
        await self._gateway.server_features.loaded()
        try:
            view, _ = self.seen(caller)
        except Failed:
            return
        unknown = self._unlisted(view)
        if all(name.startswith(EXPLICIT) for name in names):
            unknown &= {name.removeprefix(EXPLICIT).partition(":")[0] for name in names}
        if unknown:
            refreshing = self._gateway.background(self._gateway.refresh(unknown, caller))
            await asyncio.wait([refreshing], timeout=None if caller.claims.of_person else _LOOK_S)

    def why_unknown(self, name: str, view: View) -> Failure | None:
        """Why nothing is known of the server that a URI names, where it has not started."""
        named, _, _ = name.removeprefix(EXPLICIT).partition(":")
        upstream = self._gateway.upstreams.get(named) if name.startswith(EXPLICIT) else None
        return upstream.last_failure if upstream and upstream.down_since and named in self._unlisted(view) else None

    def _unlisted(self, view: View) -> set[str]:
        return {server for server, _ in self._gateway.known_features.unknown(view.config)}
