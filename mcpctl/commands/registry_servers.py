"""Adding a server of the registry: choosing how to use it, asking for its values, and showing what is written."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from mcpctl import output
from mcpctl.base.errors import McpctlError, Unusable, WrongUsage
from mcpctl.base.texts import beginning
from mcpctl.commands import options as opt
from mcpctl.commands.server_options import EntryOptions

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths
    from mcpctl.registry.needs import Answers, Need
    from mcpctl.registry.ways import Way

_MOST_TOLD, _MOST_REASONS = 12, 3
_BY_HAND = "if you trust it, add it by hand: mcpctl servers add NAME -- COMMAND, or --url URL"


class RegistryOptions(opt.Options, section="A server of the registry"):
    local_name: str | None = opt.option("--name", "NAME", "Its name here, in place of the last part of its name there.")
    use: str | None = opt.option(
        "--use", "npm|pypi|remote", "Use this one of its packages and addresses.", ("npm", "pypi", "remote")
    )
    input: list[str] | None = opt.option("--input", "NAME=VALUE", "A value for its arguments or its address.")
    yes: bool = opt.flag("--yes -y", "Write without asking; needed where nobody can be asked.")

    def taken(
        self, name: str, entry: EntryOptions, command: Sequence[str], paths: "Paths", *, dry: bool, json: bool
    ) -> "Taken | None":
        """The server that a name like `io.github.x/y` stands for, alone or with its version; None for other names."""
        from mcpctl.registry.server_json import REFERENCE

        if REFERENCE.match(name) is None:
            if self.local_name or self.use or self.input or self.yes:
                hint = "find one with: mcpctl servers search WORDS"
                raise WrongUsage("--name, --use, --input and --yes are for a server of the registry", hint)
            return None
        if command or entry.url or entry.transport or entry.openapi:
            hint = f"leave them out, or give the server a name without a slash, such as {_local(name)}"
            raise WrongUsage(f"'{name}' is a server of the registry, which says its command or URL itself", hint)
        return Taken(name, self, paths, dry=dry, json=json)


def _local(reference: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", reference.partition("@")[0].rpartition("/")[2])


class Taken:
    """A server of the registry on its way into an entry."""

    def __init__(self, reference: str, options: RegistryOptions, paths: "Paths", *, dry: bool, json: bool) -> None:
        """`reference` is its name, with `@VERSION` or without; raises `McpctlError`."""
        from mcpctl.commands import confirmation
        from mcpctl.config import config, editing
        from mcpctl.registry import ways
        from mcpctl.registry.api import Registry
        from mcpctl.registry.server_json import REFERENCE, is_exact

        match = REFERENCE.match(reference)
        assert match
        self._reference, self._options, self._paths = reference, options, paths
        self._is_dry, self._is_json = dry, json
        name, version = match.groups()
        if version is not None and not is_exact(version):
            hint = f"give one version, or none for the newest: mcpctl servers add {name}"
            raise WrongUsage(f"'{version}' is not one exact version", hint)
        self._may_ask = not (options.yes or json) and confirmation.is_terminal() and confirmation.may_be_a_person()
        self.name = options.local_name or _local(name)
        try:
            editing.edited(paths.config, editing.addition(self.name, {"command": "new"}))
        except McpctlError as error:
            if error.code != "server_exists":
                raise
            hint = f"{error.hint}; or give the new one another name with: --name NAME"
            raise McpctlError(error.message, hint, error.code) from None
        registry = Registry(config.load(paths.config))
        self._published = registry.server(name, version)
        self._host = registry.host
        self._ways, self._others = ways.of(self._published.server)

    def entry(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of its entry, with those that were given as options; raises `WrongUsage`, `Unusable`."""
        from mcpctl.registry.needs import ENV, HEADER, Unfit

        self._introduce()
        way = self._chosen()
        spelt = {slot.name.lower(): slot.name for slot in way.headers}
        headers = {spelt.get(name.lower(), name): text for name, text in given.get("headers", {}).items()}
        given = {**given, "headers": headers}
        answers = self._answers(way, given)
        try:
            entry = way.entry(answers)
        except Unfit as error:
            raise Unusable(f"'{self._reference}' cannot be added: {error}", _BY_HAND, "server_json") from None
        own = {name: value for name, value in given.items() if name not in ("env", "headers")}
        written = entry | own
        for option, table in ((ENV, "env"), (HEADER, "headers")):
            kept = {name: text for name, text in given.get(table, {}).items() if (option, name) not in answers}
            if merged := {**entry.get(table, {}), **kept}:
                written[table] = merged
        self._show(way, written, answers)
        return written

    def confirm(self) -> None:
        """Ask whether the entry that was shown is to be written; raises `Refused`, or `WrongUsage` where nobody can be
        asked and `--yes` is missing."""
        from mcpctl.commands import confirmation

        if self._options.yes:
            return
        if not self._may_ask:
            hint = f"to write this: mcpctl servers add {self._exactly} --yes, with the same options"
            raise WrongUsage("nothing was written: nobody can be asked here whether to add this", hint, "unasked")
        confirmation.ask("Write this?")

    # ---- the parts of it

    @property
    def _exactly(self) -> str:
        return f"{self._published.server.name}@{self._published.server.version}"

    def _say(self, line: str) -> None:
        if not self._is_json:
            output.say(line, always=True)

    def _introduce(self) -> None:
        from mcpctl.registry.needs import told
        from mcpctl.registry.server_json import ACTIVE

        server, official = self._published.server, self._published.meta.official
        self._say(f"{self._exactly}, of the registry at {self._host}")
        self._say(f"  it says of itself: {told(server.description)!r}")
        if server.repository and server.repository.url:
            self._say(f"  and that its code is at {told(server.repository.url)}")
        if self._published.status != ACTIVE:
            why = f": {told(official.status_message)!r}" if official.status_message else ""
            self._say(f"  it is {told(self._published.status)}{why}")
        for other in self._others[:_MOST_TOLD]:
            self._say(f"  not for mcpctl: {other.what}: {other.why}")

    def _chosen(self) -> "Way":
        from mcpctl.commands import confirmation
        from mcpctl.registry import ways

        use, every = self._options.use, self._ways
        if use:
            every = [way for way in every if use in (way.kind, way.what, way.what.rpartition("@")[0])]
        if not every:
            self._refuse(use)
        if len(every) == 1:
            return every[0]
        named = ways.listed(every)
        if not self._may_ask:
            hint = f"choose one with --use: {beginning([shlex.quote(name) for name in named], _MOST_TOLD)}"
            raise WrongUsage(f"'{self._reference}' can be used in {len(every)} ways", hint, "ambiguous")
        for number, way in enumerate(every, 1):
            self._say(f"  {number}: {_described(way)}")
        while True:
            answer = confirmation.reply(f"Use which, 1 to {len(every)}?")
            if answer.isdecimal() and len(answer) < 4 and 0 < int(answer) <= len(every):
                return every[int(answer) - 1]
            if answer in named:
                return every[named.index(answer)]

    def _refuse(self, use: str | None) -> NoReturn:
        if use and self._ways:
            ways = beginning([f"{each.kind} ({each.what})" for each in self._ways], _MOST_TOLD)
            raise WrongUsage(f"'{self._reference}' has nothing for --use {use}", f"it has: {ways}", "no_such_way")
        why = "; ".join(f"{other.what}: {other.why}" for other in self._others[:_MOST_REASONS])
        instead = next((f"by hand it would be: {other.instead}" for other in self._others if other.instead), _BY_HAND)
        message = f"mcpctl cannot use '{self._reference}': {why or 'it has no package and no address'}"
        raise Unusable(message, instead, "server_json")

    def _answers(self, way: "Way", given: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
        """The values by option and name: those that were given, and those that a person at the terminal gives now."""
        known = {need.key: need for need in way.needs}
        answers = self._given(known, given)
        left = [need for key, need in known.items() if need.is_required and key not in answers]
        if self._may_ask:
            answers |= {need.key: _asked(need) for need in left}
        elif missing := [need for need in left if need.default is None]:
            told = ", ".join(f"{need.name}{' (a secret)' if need.is_secret else ''}" for need in missing)
            raise WrongUsage(f"'{self._reference}' needs {told}", _give(missing), "input_missing")
        return {key: [known[key].meant(value) for value in values] for key, values in answers.items()}

    def _given(
        self, known: Mapping[tuple[str, str], "Need"], given: Mapping[str, Any]
    ) -> dict[tuple[str, str], list[str]]:
        from mcpctl.base.near_names import did_you_mean
        from mcpctl.registry.needs import ENV, HEADER, INPUT

        answers = {(INPUT, name): values for name, values in _inputs(self._options.input or []).items()}
        names = [name for option, name in known if option == INPUT]
        if unknown := [name for _, name in answers if name not in names]:
            otherwise = f"it has: {', '.join(names)}" if names else "leave it out: its arguments and address have none"
            message = f"'{self._reference}' has no value '{unknown[0]}'"
            raise WrongUsage(message, did_you_mean(unknown[0], names, otherwise), "no_such_input")
        for option, table in ((ENV, "env"), (HEADER, "headers")):
            its = {name: text for name, text in given.get(table, {}).items() if (option, name) in known}
            answers |= {(option, name): [text] for name, text in its.items()}
        for key, values in answers.items():
            if problem := next(filter(None, map(known[key].problem, values)), ""):
                raise WrongUsage(f"--{' '.join(key)}: {problem}", _give([known[key]]), "bad_value")
            if len(values) > 1 and not known[key].is_repeated:
                raise WrongUsage(f"--{' '.join(key)} is given {len(values)} times", f"give {key[1]} once")
        return answers

    def _show(self, way: "Way", written: Mapping[str, Any], answers: "Answers") -> None:
        from mcpctl.config import editing
        from mcpctl.config.entry_secrets import masked, masked_header
        from mcpctl.config.server_environment import unset
        from mcpctl.config.server_settings import check_server
        from mcpctl.registry.needs import ENV, HEADER

        server = check_server(self.name, editing.entry(written))
        line = written.get("url") or shlex.join([written["command"], *written["args"]])
        self._say(f"[servers.{self.name}] would be:" if self._is_dry else f"[servers.{self.name}] will be:")
        self._say(f"  {'url' if 'url' in written else 'command'}: {line}")
        said = {slot.name for slot in (*way.env, *way.headers)}  # others are its user's own, and may be secrets
        for table, option, mask in (("env", ENV, masked), ("headers", HEADER, masked_header)):
            for name, text in written.get(table, {}).items():
                self._say(f"  {option} {name}: {text if name in said else mask(text)}")
        if spare := [need for need in way.needs if not need.is_required and need.key not in answers]:
            self._say("  it also takes, if you give them:")
            for need in spare[:_MOST_TOLD]:
                self._say(f"    {need.example()}{f'  {need.says}' if need.says else ''}")
        for variable in unset(server, self._paths.config):
            self._say(f"  {variable} is not set here: it does not start without it")


def _described(way: "Way") -> str:
    return f"{way.kind}  {shlex.join(way.command) or way.what}"


def _give(needs: Sequence["Need"]) -> str:
    return f"give {' '.join(need.example() for need in needs)}"


def _inputs(texts: Sequence[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.lstrip("-"):
            raise WrongUsage("--input needs NAME=VALUE", "for example: --input path=/srv/data")
        values.setdefault(name.lstrip("-"), []).append(value)
    return values


def _asked(need: "Need") -> list[str]:
    """The values that a person at the terminal gives."""
    values: list[str] = []
    while True:
        value = _one(need, is_first=not values)
        if value is None:
            return values
        values.append(value)
        if not need.is_repeated:
            return values


def _one(need: "Need", *, is_first: bool) -> str | None:
    from mcpctl.commands import confirmation

    default = (f"${{{need.variable}}}" if need.is_secret else need.default) if is_first else None
    question = f"{_question(need, is_first=is_first)}{f' [{default}]' if default is not None else ''}:"
    while True:
        answer = confirmation.reply(question)
        if not answer and (default is not None or not is_first):
            return default
        answer = _variable_of(answer) if need.is_secret else answer
        problem = need.problem(answer) if answer else "it needs a value"
        if need.is_secret and answer and "$" not in answer:
            problem = f"no variable of this name is set here; {problem}"
        if not problem:
            return answer
        output.say(f"  {problem}", always=True)


def _question(need: "Need", *, is_first: bool) -> str:
    if not is_first:
        return f"{need.name}, another one, or nothing"
    bearer = "'Bearer ${VAR}', " if need.name.lower() == "authorization" else ""
    secret = f"a secret; the name of a variable that has it, {bearer}or ${{cmd:COMMAND}}" if need.is_secret else ""
    choices = f"one of {need.told_choices}" if need.choices else ""
    about = ", ".join(filter(None, (f"{need.says!r}" if need.says else "", secret, choices)))
    return f"{need.name}{f' ({about})' if about else ''}"


def _variable_of(answer: str) -> str:
    """`${NAME}` for the name of a variable that is set: a secret that is pasted here is none."""
    import os

    return f"${{{answer}}}" if answer in os.environ else answer
