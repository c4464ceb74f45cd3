"""`mcpctl records ship`"""

from typing import TYPE_CHECKING

from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.base.models import Row
    from mcpctl.base.paths import Paths


def ship(
    to: str | None = opt.option(
        "--to", "URL", "The database: postgresql://USER@HOST/DATABASE (also: MCPCTL_STORE).", envvar="MCPCTL_STORE",
        show_envvar=False,
    ),
    follow: bool = opt.flag("--follow -f", "Go on with what is recorded from now on, until Ctrl-C."),
    once: bool = opt.flag("--once", "Ship what is there, and end; the default."),
    machine: str | None = opt.option("--machine", "NAME", "The name of this machine in lists, else its host name."),
    keep_days: int | None = opt.option(
        "--keep-days", "N", "Drop the months that ended N days ago or earlier, of all machines; ship nothing.", min=1
    ),
    status: bool = opt.flag("--status", "Print how much is shipped from here, and how much waits; ask no database."),
    json: bool = opt.JSON,
    *,
    data: opt.DataLocation,
) -> None:  # fmt: skip
    """Copy the journals of this machine into PostgreSQL. Many machines can have their records in one database, where
    mcpctl calls ls --store and others read them.

    Each line is there once, whatever is killed meanwhile. It exits 0 only if all that was there when it began is there.
    A journal that has shrunk or was replaced is named, and the others go on. A database that is gone is tried again
    after 1 second, then 2, up to 60; without --follow for a minute. One process ships the records of a data
    directory. Nothing of it is in the way of a call.

    With ship = true in [records], no session is removed from the record of this machine before it is shipped, but where
    max_mb is exceeded twice over; --status counts these in lost_sessions.

    The password is best left to ~/.pgpass or PGPASSWORD: other users see command lines. mcpctl help team-guide has the
    roles. It needs the extra mcpctl[postgres].

    Examples:
      mcpctl records ship --to postgresql://shop1@db.example.com/mcpctl --follow
      mcpctl records ship --status
      mcpctl records ship --to postgresql://admin@db.example.com/mcpctl --keep-days 365
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.output import text
    from mcpctl.store import shipped

    paths = data.paths()
    if sum((follow, once, keep_days is not None, status)) > 1:
        raise WrongUsage("give one of --follow, --once, --keep-days and --status", "leave the others out")
    if status:
        row = shipped.status(paths)
        output.write_row(row, json, lambda: text.pairs(row))
        return
    if not to:
        raise WrongUsage("the database is not named", "name it: --to postgresql://USER@HOST/DATABASE")
    done = _dropped(to, keep_days) if keep_days is not None else _shipped(paths, to, machine, follow=follow)
    output.write_row(done, json, lambda: text.pairs(done))


def _shipped(paths: "Paths", to: str, machine: str | None, *, follow: bool) -> "Row":
    from mcpctl.store import shipped
    from mcpctl.store.postgres.connection import PostgresUrl
    from mcpctl.store.postgres.shipping import Shipper

    with shipped.alone(paths):
        shipper = Shipper(paths, PostgresUrl(to), machine)
        shipper.run(follow=follow)
    return {"lines": shipper.count}


def _dropped(to: str, days: int) -> "Row":
    from mcpctl.store.postgres import shipping
    from mcpctl.store.postgres.connection import PostgresUrl

    return {"months": shipping.drop(PostgresUrl(to), days)}
