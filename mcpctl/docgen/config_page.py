"""mcpctl-config(5): every key of config.toml. Types and defaults come from the Structs that check the file."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mcpctl.config import Project, RecordSettings, Search, Server
from mcpctl.docgen import roff

NAME = "mcpctl-config"

SERVER = {
    "command": "The program that is the server, found on the PATH; a leading ~ is the home folder. It speaks MCP on"
    " stdin and stdout. A server has a command or a url.",
    "args": "Its arguments. Only with command.",
    "url": "Where a remote server is: an http:// or https:// address.",
    "transport": "How to speak to url: http is Streamable HTTP, sse the older transport of two connections.",
    "headers": "Headers of every request to url, by name.",
    "env": "Variables for the server, which override those of env_file and of mcpctl itself: a server gets the whole"
    " environment of mcpctl. The values of a remote server's url and headers may use them too.",
    "env_file": "A file of NAME=value lines, as dotenv has them (export, quotes, comments; nothing is expanded), read"
    " when the server starts: programs with a window start mcpctl with a bare environment. A relative path is"
    " looked up beside config.toml.",
    "cwd": "The folder it runs in. Only with command.",
    "enabled": "false: it is not started, and its tools are neither found nor callable.",
    "start_timeout_s": "Seconds it may take to start and to answer the handshake. 0: any.",
    "call_timeout_s": "Seconds a call may take. 0: any; the client cancels.",
    "projects": "The projects that see it, by their names. Without any, every project does. For a client in another"
    " project its tools are not found, calling one is denied, and it is not started.",
    "tools": "Permissions by tool name. A tool set false is neither found nor callable.",
}
PROJECT = {
    "optimization": "How searches rank tools, in place of what [search] says.",
    "toolset": "The toolset in force, unless --toolset or MCPCTL_TOOLSET names another: a name, a path, which is"
    " relative to the folder of this file, or none. It goes before the equipped one.",
}
SEARCH = {
    "optimization": "How searches rank tools. bm25: by their words, on this machine alone. semantic: by their words and"
    " by what a sentence-embedding model finds near. cloud: as the service at cloud_url does. off: nothing is found,"
    " for clients that call tools by keys which they have been given. If semantic or cloud fails or is slow, bm25 ranks"
    " instead, and both the answer and the record say why.",
    "answer_tokens": "What an answer of tool_discovery may take, in tokens, estimated.",
    "semantic_model": "The folder of a model as sentence-transformers publishes them, with model.onnx or"
    " onnx/model.onnx and tokenizer.json; it needs what pip install '.[semantic]' installs in a clone of mcpctl. A"
    " relative path begins beside config.toml. With a semantic_url, the name of the model there.",
    "semantic_url": "An OpenAI-compatible embeddings endpoint, such as https://api.openai.com/v1: tools and queries are"
    " sent to it. Its token is read from the variable MCPCTL_SEMANTIC_TOKEN.",
    "semantic_timeout_s": "Seconds that a search may wait for embeddings, in serve for those of the tools too;"
    " commands wait until all tools are read, which takes a minute for thousands.",
    "cloud_url": "A search service: queries and the keys, names and descriptions of the tools are POSTed to it. Its"
    " token is read from the variable MCPCTL_CLOUD_TOKEN.",
    "cloud_timeout_s": "Seconds that it may take to answer. When it has been too slow twice, it is left alone for 5"
    " seconds, and longer each time.",
}
RECORDS = {
    "keep_sessions": "How many sessions are kept. Those last active longest ago go first, with all their calls and"
    " searches; one that is going on never goes. Those that commands such as tools call share, one a day, are not"
    " counted. serve and db rebuild say on stderr what they have removed.",
    "keep_days": "How many days after its last activity a session is kept. Not set: however old it is.",
    "max_mb": "How large the journals may grow together, in megabytes, before closed sessions go.",
    "max_response_kb": "Longer responses are recorded cut, with their true size. The client always gets all.",
    "redact_keys": "Names whose values are recorded as [redacted:HASH], besides password, token, api_key and the like.",
    "fsync": "true: every line reaches the disk before its answer leaves, so that not even a power cut loses a call.",
}
SECTIONS: Mapping[str, tuple[type[msgspec.Struct], Mapping[str, str]]] = {
    "[servers.NAME]": (Server, SERVER),
    "[projects.NAME]": (Project, PROJECT),
    "[search]": (Search, SEARCH),
    "[records]": (RecordSettings, RECORDS),
}

_EXAMPLE = """\
[servers.github]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-github"]
env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }

[servers.github.tools]
delete_repository = false

[servers.acme]
url = "https://acme.example/mcp"
headers = { Authorization = "Bearer ${ACME_TOKEN}" }
projects = ["acme"]

[projects.acme]
toolset = "triage"

[search]
answer_tokens = 2000
optimization = "semantic"
semantic_model = "~/models/all-MiniLM-L6-v2"

[records]
keep_days = 90
redact_keys = ["passphrase"]
"""
_ABOUT = (
    "config.toml names the servers behind mcpctl serve, says which project sees which of them, and sets how it searches"
    " and records. It is TOML 1.0 in UTF-8,"
    " written by hand or by mcpctl servers, which keeps comments and order.",
    "It is the file that --config names, else MCPCTL_CONFIG, else config.toml in MCPCTL_HOME, else in the user's"
    " configuration folder, ~/.config/mcpctl on Linux. A missing file is an empty one, unless it was named.",
    "The names of servers and projects have letters, digits, _ and -. A server's entry that cannot be used is reported"
    " and skipped, and stops no other. A key that mcpctl does not know is an error.",
    "Select a project with --project or MCPCTL_PROJECT. A project exists if [projects.NAME] defines it or a server"
    " lists it. Without one, all servers are seen.",
    "A running mcpctl serve looks at the file at each search and call. What was removed, disabled or set false is"
    " neither found nor callable at once, and its process ends; what was added is there for the next search. A server"
    " whose command, URL or environment changed finishes its calls before it starts anew. A file that cannot be used"
    " changes nothing and is reported once; at the start of mcpctl serve it is an error.",
)
_VARIABLES = (
    "In command, args, url, headers, env, env_file and cwd, ${VAR} stands for a variable of the environment and"
    " ${VAR:-default} for it or, where it is not set or empty, for the default. They are expanded when the server is"
    " started and never stored expanded. Where a variable has neither value nor default, the server is not started,"
    " and the message names it.",
)
_KINDS = {"Any": "any", "str": "text", "bool": "true or false", "int": "whole number", "float": "number"}


def page() -> str:
    """The page."""
    return roff.joined([
        *roff.head(NAME, 5, "The configuration of mcpctl."),
        *roff.section("SYNOPSIS", [".I config.toml"]),
        *roff.section("DESCRIPTION", roff.paragraphs(_ABOUT)),
        *roff.section("KEYS", _keys()),
        *roff.section("VARIABLES", roff.paragraphs(_VARIABLES)),
        *roff.section("EXAMPLES", roff.verbatim(_EXAMPLE.splitlines())),
        *roff.section("SEE ALSO", roff.references([("mcpctl", 1), ("mcpctl-servers", 1), ("mcpctl-records", 5)])),
    ])  # fmt: skip


def _keys() -> Iterator[str]:
    for title, (struct, told) in SECTIONS.items():
        fields = {field.name: field for field in msgspec.structs.fields(struct)}
        entries = (line for name, field in fields.items() for line in _key(field, told[name]))
        yield from roff.subsection(title, entries)


def _key(field: msgspec.structs.FieldInfo, told: str) -> Iterator[str]:
    default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    tag = f"{roff.bold(field.name)} ({roff.escaped(_kind(field.type))})"
    unset = default is None or default == "" or default == [] or default == {}
    yield from roff.entry(tag, told if unset else f"{told} Default: {msgspec.json.encode(default).decode()}.")


def _kind(annotation: Any) -> str:
    name = str(getattr(annotation, "__name__", annotation))
    arguments = [each for each in getattr(annotation, "__args__", ()) if each is not type(None)]
    if name == "list":
        return f"list of {_kind(arguments[0])}"
    if name == "dict":
        return f"table of {_kind(arguments[1])}"
    return _kind(arguments[0]) if arguments else _KINDS[name]
