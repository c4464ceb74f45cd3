"""The findings of the doctor: everything that it can find, each with its reason and its fix, and one that it made."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mcpctl.base import paths
from mcpctl.base.errors import McpctlError, Unusable
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Rule
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.server_settings import Server

_ERROR, _WARNING, _INFO = "error", "warning", "info"
_ALL = (
    Rule("D101", "The configuration cannot be used.", "mcpctl serve does not start with it.",
         "Fix the file at the place that the message names.", _ERROR),
    Rule("D102", "The entry of a server cannot be used.", "The server is skipped; the others work.",
         "Fix the entry in config.toml.", _ERROR),
    Rule("D103", "A server needs something that is not there.",
         "A variable, the file of variables or the folder that its entry names is missing: it is not started.",
         "Set it, or change the entry in config.toml.", _ERROR),
    Rule("D104", "A project or a toolset that is named cannot be used.", "mcpctl serve does not start with it.",
         "Name another, or make it.", _ERROR),
    Rule("D105", "A secret is sent unencrypted.", "Anyone on the way can read it.", "Use https://.", _WARNING),
    Rule("D106", "A rule of the policy matches no tool.", "It protects or permits nothing.",
         "See mcpctl policy check.", _WARNING),
    Rule("D107", "A server is disabled.", "Its tools are neither found nor callable.",
         "mcpctl servers enable NAME", _INFO),
    Rule("D108", "There is no server yet.", "mcpctl has nothing to find or call.",
         "mcpctl servers add, or mcpctl servers import", _INFO),
    Rule("D109", "A server needs a login.", "Its calls fail until somebody logs in.", "mcpctl servers login NAME",
         _WARNING),
    Rule("D110", "A client starts mcpctl without a variable that a server needs.",
         "Programs with a window do not have your shell's variables: the server starts here, but not there.",
         "Set it in the client's entry for mcpctl, or give its value in config.toml.", _WARNING),
    Rule("D111", "A server did not work when it was last tried.", "Its tools are not there until it works again.",
         "Fix what the message says, then: mcpctl servers check NAME", _WARNING),
    Rule("D112", "The hook of Claude Code may say yes.",
         "Tools in allow are called without Claude Code's prompt, and a shell among them is enough to say yes for you.",
         "If you do not want that, remove claude_hook from [policy].", _INFO),
    Rule("D113", "A tool that is chosen to be shown directly is not.", "Clients do not see it by a name of its own.",
         "Change direct in [serve] of config.toml; see: mcpctl tools ls --direct", _WARNING),
    Rule("D114", "A client takes less than it is shown directly.", "It may leave tools out, or refuse them all.",
         "Choose fewer with direct in [serve] of config.toml; see: mcpctl tools ls --direct", _WARNING),
    Rule("D115", "The tools of an HTTP API are not there.",
         "Its document was not read, or not for its entry as it is.",
         "mcpctl tools refresh NAME", _ERROR),
    Rule("D116", "The document of an HTTP API is newer than its tools.", "The tools are those of the older document.",
         "mcpctl tools refresh NAME", _WARNING),
    Rule("D117", "A security scheme of an HTTP API has no value.",
         "Requests that only it is for are sent without credentials.",
         "mcpctl servers set NAME --auth SCHEME=VALUE", _INFO),
    Rule("D118", "The credentials of an HTTP API are kept back.",
         "They are sent over https:// alone, or to this machine.",
         "Use https://.", _WARNING),
    Rule("D119", "A value is for no security scheme of an HTTP API.", "It is never sent.",
         "Correct the name under auth in the entry, or take it out.", _WARNING),
    Rule("D120", "Everybody acts as one account at a server.",
         "mcpctl serve --http is reached by other machines, and logins and variables are those of its process.",
         "Give the servers accounts that everybody may use, or set require_own_login = true for them.", _WARNING),
    Rule("D121", "Others can change config.toml, or read the secrets in it.",
         "Programs named in it run with your rights, and its secrets are no longer secret.",
         "mcpctl doctor --fix", _WARNING),
    Rule("D122", "Others can read files of the data directory.",
         "The records have the arguments and results of every call.", "mcpctl doctor --fix", _WARNING),
    Rule("D123", "A file belongs to another user.",
         "Often mcpctl was once run with sudo; then it cannot be written any more.", "chown it to yourself.", _WARNING),
    Rule("D124", "A file or a folder cannot be read or written.", "mcpctl cannot use it, or cannot look at it here.",
         "Make it readable and writable for yourself; mcpctl doctor --fix does that for files of yours.", _ERROR),
    Rule("D131", "The command of a server is not found.", "The server cannot be started.",
         "Install the program, or write its absolute path into the entry.", _ERROR),
    Rule("D132", "A client's PATH does not find what starts a server.",
         "Programs with a window do not have your shell's PATH: the server starts here, but not there.",
         "Put the entry in again, with a PATH that does: mcpctl install CLIENT", _WARNING),
    Rule("D133", "Node or uv is missing, too old or does not run.", "The servers that npx or uvx runs do not start.",
         "Install Node 18 or newer, or uv.", _ERROR),
    Rule("D134", "Another mcpctl is the first on the PATH.", "The mcpctl that you type is not this one.",
         "Remove one of them, or change the PATH.", _INFO),
    Rule("D135", "A server runs whatever version is newest.",
         "npx and uvx without a version run code that nobody has looked at.",
         "Name a version: package@1.2.3.", _INFO),
    Rule("D141", "The data directory cannot be used.", "Without it there are no records, no pins and no catalog.",
         "Make it writable, or name another with --data-dir or MCPCTL_DATA_DIR.", _ERROR),
    Rule("D142", "The disk is almost full.", "Calls are not on record if they cannot be written.",
         "Make room there.", _WARNING),
    Rule("D143", "A journal cannot be read.", "Its session is missing in the records.",
         "Make it a file that you can read, or move it away.", _WARNING),
    Rule("D144", "Lines of a journal cannot be read.", "They are skipped; all other lines are kept.",
         "Delete these lines with an editor while no mcpctl serve runs, then: mcpctl db rebuild", _WARNING),
    Rule("D145", "The index of the records is damaged.", "It is derived from the journals, and has nothing else.",
         "mcpctl doctor --fix", _WARNING),
    Rule("D146", "Files of older versions or of killed processes are left over.", "They only take up room.",
         "mcpctl doctor --fix", _INFO),
    Rule("D147", "Sessions of processes that are gone are still open on record.",
         "The next mcpctl serve closes them.", "mcpctl doctor --fix", _INFO),
    Rule("D148", "state.db cannot be used.", "It has the lists of tools and the equipped toolset.",
         "Remove it: it is a cache and fills again.", _ERROR),
    Rule("D149", "policy.db cannot be used.", "It has what people have decided: pins, approvals and tokens.",
         "Put a copy of it back.", _ERROR),
    Rule("D150", "Sessions were removed from the record to keep its limits.",
         "Removed sessions cannot be shown any more.", "Raise the limit in [records], if they are missed.", _INFO),
    Rule("D151", "The configuration was loosened.",
         "Tools may be called without a question, or more often, that could not be before.",
         "If you did not want that: mcpctl policy check; then take the change back.", _INFO),
    Rule("D152", "Everything is paused.", "Nothing is called, searched or read until that ends.",
         "mcpctl policy resume", _WARNING),
    Rule("D153", "Searches would find much more if they learnt from use.",
         "The calls on record say which tools are meant by such queries.",
         "learn = true in [search] of config.toml; see: mcpctl tools eval --from-records", _INFO),
    Rule("D161", "Servers of an mcpctl that is gone are still running.",
         "Nobody talks to them any more; they cost memory, and may hold files and ports.",
         "mcpctl doctor --fix", _WARNING),
    Rule("D162", "Processes of servers go on by themselves though their mcpctl is gone.",
         "They may be meant to: a server can start something that stays. They are never ended for you.",
         "Look at them; end one with: kill PID", _INFO),
    Rule("D171", "A client's entry for mcpctl names a program that is not there.", "The client has no tools.",
         "Put the entry in again: mcpctl install CLIENT", _ERROR),
    Rule("D172", "A client's entry for mcpctl does not start.", "The client has no tools.",
         "Fix what the message says, or put the entry in again: mcpctl install CLIENT", _ERROR),
    Rule("D173", "A client's file cannot be read.", "The client may not read it either.", "Fix the file.", _WARNING),
    Rule("D174", "A client starts the same mcpctl twice.", "Every tool is shown twice, and every server runs twice.",
         "Remove one of the entries.", _WARNING),
    Rule("D175", "A client's entry for mcpctl was not tried.", "Only what certainly is mcpctl is started.",
         "Start the client, and look whether it has the tools.", _INFO),
    Rule("D176", "A client starts another version of mcpctl.", "It may not behave as the one that was checked.",
         "Put the entry in again: mcpctl install CLIENT", _INFO),
    Rule("D177", "A client's entry for mcpctl is switched off.", "The client does not use mcpctl.",
         "Switch it on in the client.", _INFO),
    Rule("D178", "A client also starts a server itself that mcpctl has.",
         "Calls past mcpctl are neither recorded nor bound by the policy, and its tools are shown to the model.",
         "Remove the server from the client's file.", _INFO),
    Rule("D179", "A client does not use mcpctl.", "Its servers are neither recorded nor bound by the policy.",
         "mcpctl install CLIENT", _INFO),
    Rule("D180", "The mcpctl of a client has no configuration.", "It has no servers, so the client has no tools.",
         "Put the entry in again: mcpctl install CLIENT", _WARNING),
    Rule("D191", "A check could not be made.", "It is unknown what it would have found; the others were made.",
         "Run it again with MCPCTL_DEBUG=1, and report it.", _ERROR),
)  # fmt: skip
CODES = {rule.id: rule for rule in _ALL}  # scripts read the codes: none is used again for something else

Repair = Callable[[], str]  # does everything that is safe to do, and returns a sentence about it


@dataclass(frozen=True)
class DoctorFinding:
    """A finding with a `code`, or a fact that is in order."""

    message: str
    code: str = ""
    subject: str | None = None
    fix: str = ""  # the fix here, where that is more than the code's
    repair: Repair | None = None

    @property
    def status(self) -> str:
        """`ok`, `info`, `warning` or `error`."""
        return CODES[self.code].severity if self.code else "ok"

    def row(self, area: str) -> Row:
        return {
            "area": area,
            "status": self.status,
            "code": self.code or None,
            "subject": self.subject,
            "message": self.message,
            "fix": self.fix or (CODES[self.code].fix if self.code else None),
            "fixable": self.repair is not None,
        }


def finding(
    code: str, message: str, subject: object = None, fix: str = "", repair: Repair | None = None
) -> DoctorFinding:
    """A finding of that code. A message that begins with its subject is taken without it."""
    about = None if subject is None else str(subject)
    return DoctorFinding(message.removeprefix(f"{about}: "), code, about, fix, repair)


@dataclass(frozen=True)
class Case:
    """The installation that is examined. Where its configuration cannot be used, `config` is an empty one."""

    paths: Paths
    config: Config
    problem: McpctlError | None = None  # why the configuration cannot be used

    @classmethod
    def of(cls, file: Path | None, data: Path | None) -> "Case":
        """The installation of these options and the environment; raises `Unusable` where there is no home folder."""
        places = paths.find(file, data)
        try:
            loaded = config.load(places.config)
        except McpctlError as error:
            return cls(places, Config(places.config), error)
        if (file or os.environ.get("MCPCTL_CONFIG")) and not os.path.exists(places.config):  # noqa: PTH110 - Path.exists raises
            hint = "check the name; mcpctl servers add creates a new file"
            return cls(places, loaded, Unusable(f"there is no configuration file {places.config}", hint))
        return cls(places, loaded)

    @cached_property
    def local(self) -> Mapping[str, Server]:
        return {name: server for name, server in self.config.enabled.items() if server.command}


Check = Callable[[Case], Iterator[DoctorFinding]]
