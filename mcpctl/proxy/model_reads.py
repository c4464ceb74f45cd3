"""What a model reads by itself, through the tool of our own: whose it is, and whether the policy lets it."""

from mcpctl.base.failure import Failed
from mcpctl.catalog.features import Owner
from mcpctl.policy.decide import CURRENT, FETCH, LIST, REFUSE, Subject, Verdict, decide
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.owners import Owners
from mcpctl.proxy.request import Request


class ModelReads:
    """Of one session."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._owners = Owners(gateway)

    def decided(self, call: Request) -> Verdict:
        """The verdict on a call of the tool that reads: of a resource, on reading that, too. It is `list` as long as it
        is not known whose it is."""
        call.fetched = None
        verdict = decide(call.subject)
        if verdict.outcome == REFUSE or _resource_of(call) is None or isinstance(call.owner, Failed):
            return verdict
        if call.owner is None:
            return Verdict(LIST)
        call.fetched = self._subject(call, call.owner)
        return decide(call.subject)

    async def locate(self, call: Request) -> None:
        """Get to know whose it is, or why it is nobody's."""
        if resource := _resource_of(call):
            try:
                call.owner = await self._owners.owner(resource, call.caller)
            except Failed as error:
                call.owner = error

    def _subject(self, call: Request, owner: Owner) -> Subject:
        catalog, toolset = self._gateway.catalog(call.view), call.view.toolset
        listed = catalog.listed(owner.server)
        tools = listed.tools if listed else ()
        shown = [toolset.shown(tool) for tool in tools] if toolset else tools
        tool = self._gateway.features(call.view).as_tool(owner)
        return Subject(FETCH, owner.server, tool.name, tool, call.view, listing=CURRENT, tools=shown)


def _resource_of(call: Request) -> str | None:
    """The resource that a call is to read; None for what is kept of a call, and for what cannot be understood."""
    from mcpctl.metatools import read_request  # what most sessions never need is no part of starting up

    try:
        return read_request.taken(call.arguments).resource
    except read_request.WrongArguments:
        return None
