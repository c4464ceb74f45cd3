"""`mcpctl dashboard` itself"""

from typing import TYPE_CHECKING

import typer

from mcpctl import output
from mcpctl.base.errors import NotFound, Refused
from mcpctl.base.paths import Paths
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import ConfiguredRecordLocation

if TYPE_CHECKING:
    from mcpctl.dashboard.running import Running


def dashboard(
    ctx: typer.Context,
    port: int | None = opt.option(
        "--port", "N", "Listen here; else on the last port, or any free.", min=1024, max=65535
    ),
    no_open: bool = opt.flag("--no-open", "Open no browser."),
    read_only: bool = opt.flag("--read-only", "Show approvals without a way to answer them."),
    print_url: bool = opt.flag("--print-url", "Print a login link to the running dashboard; start none."),
    json: bool = opt.flag("--json", "Print the link as an object: url, port and pid; open no browser."),
    *,
    place: ConfiguredRecordLocation,
) -> None:
    """Show sessions, calls and approvals in the browser.

    It serves pages and a REST interface on this machine alone, opens the browser where there is one, and prints a link
    that logs in once, within a minute. Ctrl-C ends it, and every login. While one runs, the command prints a new link
    to it instead of starting another, as --print-url does always; without one, that exits 3.

    Approvals are answered only by a person who has started it, and printed the link, in the foreground of a terminal:
    in the background, or where an agent runs the command, it only reads.

    With --store it shows the sessions and calls of all machines that ship their records there; servers, tools and
    approvals are those of this machine.

    Examples:
      mcpctl dashboard
      mcpctl dashboard --no-open --port 4747
      mcpctl dashboard --print-url
    """
    if ctx.invoked_subcommand:
        return
    from mcpctl.dashboard.running import claimed, running
    from mcpctl.oauth import browser

    paths, store = place.paths(), place.source()
    the_one = the_running(paths) if print_url else None
    is_person = _is_person(read_only)
    opens = is_person and not (no_open or print_url or json) and browser.has_window()

    def show(here: "Running") -> None:
        link = here.link(may_answer=is_person and not read_only)
        if json:
            output.write_row({"url": link, "port": here.port, "pid": here.pid}, json, lambda: iter(()))
        else:
            output.write_text(link)
        if opens:
            browser.open_(link, lambda: None)  # nobody waits for it: the link is printed, too

    if the_one:
        show(the_one)
        return
    while True:
        with claimed(paths) as claim:
            if claim:
                from mcpctl.dashboard.server import serve

                output.say("the link logs in once, within a minute; mcpctl dashboard --print-url prints another")
                output.say("Ctrl-C ends the dashboard")
                serve(paths, claim, port, read_only=read_only or not is_person, store=store, on_listening=show)
                return
        if here := running(paths):
            if store:
                output.say(f"end process {here.pid} first to have it read where --store says", always=True)
            _say_of(here, port, wants_answers=is_person and not read_only)
            show(here)
            return


def the_running(paths: "Paths") -> "Running":
    from mcpctl.dashboard.running import running

    if here := running(paths):
        return here
    raise NotFound(f"no dashboard runs over {paths.data}", "start it: mcpctl dashboard", "no_dashboard")


def _is_person(read_only: bool) -> bool:
    """Whether the link may answer approvals; says why not."""
    from mcpctl.commands.confirmation import only_for_people

    try:
        only_for_people("answer approvals")
    except Refused as error:
        if not read_only:
            output.say(f"read-only, since {error.message}", always=True)
        return False
    return True


def _say_of(here: "Running", port: int | None, *, wants_answers: bool) -> None:

    where = f"the dashboard runs already, on port {here.port}"
    if port not in (None, here.port):
        output.say(f"{where}, as process {here.pid}; end that to have it on port {port}", always=True)
    else:
        output.say(f"{where}; this is a new link to it")
    if here.read_only and wants_answers:
        output.say(f"it is read-only; end process {here.pid} and start it here to answer approvals", always=True)
