"""`add-tool-annotation`: notes that a model adds to a tool. Loaded with the first of them."""

from mcpctl.base.callers import Caller
from mcpctl.base.errors import McpctlError, warn
from mcpctl.base.failure import Failed
from mcpctl.metatools import note_tool, offers
from mcpctl.policy import words
from mcpctl.proxy import translate
from mcpctl.proxy.session import ClientSession
from mcpctl.proxy.spec import Incoming
from mcpctl.wire.threads import apart, beside


async def annotate(session: ClientSession, incoming: Incoming, arguments: bytes) -> None:
    """Add the notes of a request, and answer it."""
    caller = incoming.caller
    try:
        answer = translate.own_result(await _noted(session, caller, arguments), caller)
    except Failed as error:
        session.record_denied(error.failure, of=offers.ANNOTATE)
        answer = translate.refusal(words.for_model(error.failure), caller)
    except McpctlError as error:
        answer = translate.refusal(f"{error.message}; {error.hint}", caller)
    except Exception as error:
        warn(f"notes could not be added: {error!r}")
        answer = translate.refusal(f"the notes could not be added: {error}", caller)
    session.answer(incoming, answer)


async def _noted(session: ClientSession, caller: Caller, arguments: bytes) -> bytes:
    await session.gateway.searching.unlisted(await session.admitted(caller))
    view = await session.admitted(caller)
    catalog = session.gateway.catalog(view)
    try:
        subject, notes = note_tool.note_request(arguments, catalog)
    except Failed as error:
        near = await beside(translate.near, error.failure.facts["key"], catalog.snapshot())
        raise Failed(error.failure.about(near=near)) from None
    assert view.toolset
    assert view.toolset_place
    # Aside: the lock of the file may be held.
    return await apart(note_tool.add, view.toolset_place, subject, notes, view.toolset.name)
