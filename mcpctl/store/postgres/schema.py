"""The tables in PostgreSQL, which grow by numbered steps, and what each role may do with them.

The lines of journals are kept. All other tables are made of them, and made anew where their fields change: the number
of that step is the version of the fields.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcpctl.base import fields
from mcpctl.base.errors import Unusable
from mcpctl.store import projection, schema
from mcpctl.store.postgres.connection import PostgresUrl

if TYPE_CHECKING:
    import psycopg

OWNER, WRITER, READER = "mcpctl_owner", "mcpctl_writer", "mcpctl_reader"
BEGINS = {  # the column by which the rows of each table are in the partition of a month
    "sessions": "start_time", "calls": "started_at", "discoveries": "started_at", "reads": "started_at",
    "decisions": "made_at", "used": "month",
}  # fmt: skip
LOCK = 0x6D637063746C  # of steps and partitions
_LINES = """
CREATE TABLE machines (id uuid PRIMARY KEY, name text, first_seen timestamptz);
CREATE TABLE journals (
    machine uuid, name text, session_id text, shipped bigint NOT NULL, is_closed boolean, PRIMARY KEY (machine, name));
CREATE TABLE journal_lines (
    machine uuid, journal text, position bigint, line text NOT NULL, PRIMARY KEY (machine, journal, position));
-- How far the tables below have been made of the lines.
CREATE TABLE projected (
    machine uuid, journal text, position bigint NOT NULL, PRIMARY KEY (machine, journal));
"""
_FUNCTIONS = r"""
CREATE OR REPLACE FUNCTION unescaped(escaped text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(CASE
        WHEN part[1] IS NOT NULL THEN chr(65536
            + (('x' || lpad(part[1], 8, '0'))::bit(32)::int - 55296) * 1024
            + ('x' || lpad(part[2], 8, '0'))::bit(32)::int - 56320)
        WHEN part[3] ~* '^(0000|d[89a-f]..)$' THEN chr(65533)
        WHEN part[3] IS NOT NULL THEN chr(('x' || lpad(part[3], 8, '0'))::bit(32)::int)
        WHEN part[4] IS NOT NULL THEN translate(part[4], 'bfnrt', E'\b\f\n\r\t')
        ELSE part[5] END, '' ORDER BY number)
    FROM regexp_matches(escaped, '\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})'
        '|\\(["\\/bfnrt])|([^\\]+|\\)', 'g') WITH ORDINALITY AS parts (part, number)
$$;
-- Whether a column of JSON has a text, however it is escaped; `pattern` has each letter in both its cases.
CREATE OR REPLACE FUNCTION says(json text, pattern text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    FOR depth IN 0..3 LOOP
        IF json IS NULL OR json ~ pattern COLLATE "C" THEN RETURN json IS NOT NULL; END IF;
        IF strpos(json, '\') = 0 THEN RETURN false; END IF;
        json := unescaped(json);
    END LOOP;
    RETURN false;
END $$;
CREATE OR REPLACE FUNCTION member(value json, path text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE names text[] := string_to_array(path, '.');
BEGIN
    IF json_typeof(value) <> 'object' THEN RETURN NULL; END IF;
    IF value -> path IS NOT NULL OR cardinality(names) < 2 THEN RETURN value -> path; END IF;
    RETURN member(value -> names[1], array_to_string(names[2:], '.'));
END $$;
CREATE OR REPLACE FUNCTION has_argument(arguments text, path text, typed text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE found json;
BEGIN
    found := member(replace(arguments, '\u0000', '\ufffd')::json, path);
    IF found IS NULL THEN RETURN false; END IF;
    IF json_typeof(found) = 'string' AND found #>> '{}' = typed THEN RETURN true; END IF;
    RETURN found::jsonb = typed::jsonb;
EXCEPTION WHEN data_exception OR statement_too_complex THEN RETURN false;
END $$;
CREATE OR REPLACE FUNCTION error_code(error text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN replace(error, '\u0000', '\ufffd')::json ->> 'code';
EXCEPTION WHEN data_exception OR statement_too_complex THEN RETURN NULL;
END $$;
-- Partitions belong to the owner: who may only write has them made by this.
CREATE OR REPLACE FUNCTION make_partitions(month text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE parent text; partition text;
BEGIN
    IF month !~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$' THEN RAISE EXCEPTION 'no month: %', month; END IF;
    PERFORM pg_advisory_xact_lock({lock});
    FOREACH parent IN ARRAY ARRAY[{parents}] LOOP
        partition := parent || '_' || replace(month, '-', '_');
        CONTINUE WHEN to_regclass(partition) IS NOT NULL;
        -- Made as a part of its table it would wait until nobody reads that, and everybody else for it.
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, partition, month, month || 'z');
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION make_partitions FROM PUBLIC;
"""
_VIEWS = """
CREATE VIEW usage AS SELECT server, tool, CAST(sum(calls) AS bigint) AS calls, max(last_used) AS last_used
    FROM used GROUP BY server, tool;
-- Of commands alone it is known here that their session of the day does nothing at this moment.
CREATE VIEW dead AS SELECT id AS session_id FROM sessions WHERE status = 'active' AND via = 'cli';
"""
_INDEXES = """
CREATE INDEX ON calls (session_id, position);
CREATE INDEX ON calls (started_at, session_id, position);
CREATE INDEX ON calls (server, tool, started_at);
CREATE INDEX ON calls (started_at) WHERE status <> 'ok';
CREATE INDEX ON calls (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX ON discoveries (session_id, position);
CREATE INDEX ON discoveries (started_at, session_id, position);
CREATE INDEX ON reads (session_id, position);
CREATE INDEX ON reads (started_at, session_id, position);
CREATE INDEX ON decisions (session_id, position);
CREATE INDEX ON decisions (call_id, position);
CREATE INDEX ON decisions (made_at, session_id, position);
CREATE INDEX ON decisions (key, made_at) WHERE decision IN ('approved', 'declined');
CREATE INDEX ON sessions (last_activity, id);
"""
_COUNTS = ("tool_call_count", "total_tokens", "discovery_count", "discovery_tokens")
_MOVED = {  # the columns of each table that who writes may change
    "machines": ("name",),
    "journals": ("shipped", "is_closed"),
    "projected": ("position",),
    "sessions": ("status", "end_time", "last_activity", *_COUNTS),
    "calls": (*projection.END.names, "decision_id"),
    "used": ("calls", "last_used"),
}
_INSERTED = ("machines", "journals", "journal_lines", "projected", *BEGINS)
_PATIENCE_S = 10  # whoever waits for readers to end keeps all others waiting


def _tables() -> Iterator[str]:
    # In the order in which shippers have them, who may be at work.
    yield f"LOCK TABLE projected IN EXCLUSIVE MODE; DROP TABLE IF EXISTS {', '.join(BEGINS)} CASCADE;\n"
    for table in fields.TABLES:
        columns = {name: _type(kept) for name, kept in schema.stored(table).items()}
        listed = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
        begins = BEGINS[table]
        yield f"CREATE TABLE {table} (machine uuid, {listed}, PRIMARY KEY (id, machine, {begins}))"
        yield f" PARTITION BY RANGE ({begins});\n"
    yield (
        'CREATE TABLE used (machine uuid, month text COLLATE "C", server text COLLATE "C", tool text COLLATE "C",'
        ' calls bigint NOT NULL, last_used text COLLATE "C" NOT NULL, PRIMARY KEY (machine, month, server, tool))'
        " PARTITION BY RANGE (month);\n"
    )
    yield f"{_INDEXES}{_VIEWS}UPDATE projected SET position = 0;\n"
    parents = ", ".join(f"'{table}'" for table in BEGINS)
    yield _FUNCTIONS.replace("{lock}", str(LOCK)).replace("{parents}", parents)


def _type(of_sqlite: str) -> str:
    """A column's type, by that in the index. Texts are compared byte by byte, as there."""
    kind, _, rest = of_sqlite.partition(" ")
    typed = "bigint" if kind == "INTEGER" else 'text COLLATE "C"'
    return f"{typed} {rest.replace('PRIMARY KEY', '')}".strip()


def _grants() -> Iterator[str]:
    """The rights of each role, where there are those roles."""
    selects = f"GRANT SELECT ON {', '.join(_INSERTED)}, steps, usage, dead TO"
    writes = [f"GRANT INSERT ON {', '.join(_INSERTED)} TO {WRITER}", f"{selects} {WRITER}"]
    writes += [f"GRANT UPDATE ({', '.join(names)}) ON {table} TO {WRITER}" for table, names in _MOVED.items()]
    writes.append(f"GRANT EXECUTE ON FUNCTION make_partitions TO {WRITER}")
    for role, grants in ((WRITER, writes), (READER, [f"{selects} {READER}"])):
        exists = f"EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}')"
        yield f"DO $$ BEGIN IF {exists} THEN {'; '.join(grants)}; END IF; END $$;\n"


STEPS = ((1, _LINES), (fields.INDEX_VERSION, "".join(_tables())))
_NEWEST = fields.INDEX_VERSION


def grow(connection: "psycopg.Connection[Any]", url: PostgresUrl) -> None:
    """Apply the steps that are missing, all or none; raises `Unusable` where a newer mcpctl was there, or who connects
    may not make tables."""
    import psycopg

    try:
        if _known(connection, url) != _NEWEST:
            _apply(connection, url)
    except psycopg.errors.InsufficientPrivilege as error:
        raise _without_tables(connection, url) from error


def _apply(connection: "psycopg.Connection[Any]", url: PostgresUrl) -> None:
    with connection.transaction():
        _lock(connection)
        is_member = f"SELECT pg_has_role(rolname, 'MEMBER') FROM pg_roles WHERE rolname = '{OWNER}'"
        if (row := connection.execute(is_member).fetchone()) and row[0]:
            connection.execute(f"SET LOCAL ROLE {OWNER}")
        connection.execute("CREATE TABLE IF NOT EXISTS steps (number integer PRIMARY KEY)")
        known = _known(connection, url)
        for number, statements in STEPS:
            if number > known:
                connection.execute(statements)
                connection.execute("INSERT INTO steps VALUES ($1)", (number,))
        connection.execute("".join(_grants()))


def check(connection: "psycopg.Connection[Any]", url: PostgresUrl) -> None:
    """Raises `Unusable` where the tables are not those that this mcpctl reads."""
    if _known(connection, url) < _NEWEST:
        raise _without_tables(connection, url)


def _without_tables(connection: "psycopg.Connection[Any]", url: PostgresUrl) -> Unusable:
    what = "was filled by an older mcpctl" if _known(connection, url) else "has no records of mcpctl"
    hint = f"ship once as a member of {OWNER}: mcpctl records ship --to postgresql://USER@HOST/DATABASE"
    return Unusable(f"{url} {what}", hint, "store_older")


def months(db: "psycopg.Connection[Any]") -> set[str]:
    """The months that have partitions."""
    names = "SELECT substr(inhrelid::regclass::text, 7) FROM pg_inherits WHERE inhparent = 'calls'::regclass"
    return {month.replace("_", "-") for (month,) in db.execute(names).fetchall()}


def drop_partitions(db: "psycopg.Connection[Any]", days: int) -> list[str]:
    """Drop the months that ended so many days ago, and the lines of closed sessions that began in them."""
    ended = "SELECT to_char(now() AT TIME ZONE 'UTC' - $1 * interval '1 day', 'YYYY-MM')"
    of_closed = """DELETE FROM {0} USING sessions WHERE {0}.machine = sessions.machine
        AND {0}.journal = sessions.journal AND start_time < $1 AND status = 'closed'"""
    with db.transaction():
        _lock(db)
        (first,) = db.execute(ended, (days,)).fetchone() or ("",)
        gone = sorted(month for month in months(db) if month < first)
        if gone:
            for table in ("journal_lines", "projected"):
                db.execute(of_closed.format(table), (gone[-1] + "z",))
        for month in gone:
            names = ", ".join(f"{table}_{month.replace('-', '_')}" for table in BEGINS)
            db.execute(f"DROP TABLE {names}")
    return gone


def _lock(db: "psycopg.Connection[Any]") -> None:
    """Be the only one who changes tables, until the end of the transaction."""
    db.execute(f"SET LOCAL lock_timeout = '{_PATIENCE_S}s'")
    db.execute("SELECT pg_advisory_xact_lock($1)", (LOCK,))


def _known(connection: "psycopg.Connection[Any]", url: PostgresUrl) -> int:
    """The last step that was applied; 0 without any."""
    (there,) = connection.execute("SELECT to_regclass('steps') IS NOT NULL").fetchone() or (False,)
    if not there:
        return 0
    (known,) = connection.execute("SELECT coalesce(max(number), 0) FROM steps").fetchone() or (0,)
    if known > _NEWEST:
        hint = "upgrade this mcpctl, or name another database"
        newer = f"{url} was filled by a newer mcpctl (step {known}; this one knows {_NEWEST})"
        raise Unusable(newer, hint, "store_newer")
    return int(known)
