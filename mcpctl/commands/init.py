"""`mcpctl init`"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mcpctl import output
from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.base.models import Found
from mcpctl.base.paths import Paths
from mcpctl.base.texts import beginning
from mcpctl.commands import complete
from mcpctl.commands import options as opt

_NONE = "none"
_MOST_NAMED = 10
_LONGEST_KEY = 36
_POLICIES = ("careful", "balanced", "record")


def init(
    clients: list[str] | None = opt.argument(
        "[CLIENT]...", "Only these clients, such as cursor.", complete.clients, default=None
    ),
    policy: str | None = opt.option("--policy", "POLICY", "careful, balanced or record.", _POLICIES),
    yes: bool = opt.flag("--yes -y", "Do all steps without asking; a policy only with --policy."),
    from_script: bool = opt.FROM_SCRIPT,
    *,
    place: opt.Location,
) -> None:
    """Set mcpctl up, step by step.

    Four steps: put mcpctl into the clients that are here, in front of their servers; start each server once and list
    its tools; choose a policy, of which you see what it means for ten of your tools, and take over the permission rules
    of those clients into it; check the installation. Then it says what to restart. Every step can be skipped, and does
    what mcpctl install, servers check and doctor do; nothing is written before you say yes, and Ctrl-C ends it between
    two writes. Run it again at any time: it goes on with what is left, and says so where nothing is.

    The policies: under careful, tools that say that they only read run, and all others wait for your yes; under
    balanced, only tools that may delete, or do not say, wait; record blocks nothing, and has on record which would have
    waited under balanced. Lists and other keys of a [policy] that you have stay. Only a person at a terminal can choose
    a policy under which more tools are called without a question than before.

    Without a terminal it needs --yes. The exit status is that of the first step that failed.

    Examples:
      mcpctl init
      mcpctl init cursor --policy careful
      mcpctl init --yes --policy balanced
    """
    from mcpctl.clients import installing
    from mcpctl.commands import confirmation
    from mcpctl.config import config

    opt.one_of("policy", policy, _POLICIES)
    installing.check_clients(clients or [])
    if not yes and not (confirmation.is_terminal() and confirmation.may_be_a_person()):
        each = "mcpctl install CLIENT, mcpctl servers check, mcpctl config edit, mcpctl doctor"
        hint = f"do all with mcpctl init --yes --policy balanced, or the steps one by one: {each}"
        raise WrongUsage("nobody can be asked here", hint)
    paths = place.paths(creates=True)
    config.load(paths.config)
    steps = _Steps(paths, place, clients or [], policy, yes=yes, from_script=from_script)
    try:
        steps.run()
    except KeyboardInterrupt:
        output.say("stopped: each file is as it was, or as you said; go on with: mcpctl init", always=True)
        raise
    if steps.failures:
        raise SystemExit(steps.failures[0].exit_code)


class _Steps:
    def __init__(
        self, paths: Paths, place: opt.Location, clients: Sequence[str], policy: str | None, *, yes: bool,
        from_script: bool,
    ) -> None:  # fmt: skip
        self._paths, self._place, self._clients, self._policy = paths, place, clients, policy
        self._yes, self._from_script = yes, from_script
        self.failures: list[McpctlError] = []

    def run(self) -> None:
        left = self._left()
        if not left and not self._policy and not self._yes and self._is_complete():
            from mcpctl.clients import installing
            from mcpctl.commands.install import kept

            clients = ", ".join(self._clients or self._here()) or "no client is here"
            output.say(f"everything is set up ({clients}): look with: mcpctl doctor", always=True)
            output.say("another policy: mcpctl init --policy POLICY; each rule of it: mcpctl config edit", always=True)
            for line in kept(installing.here()):
                output.say(line, always=True)
            return
        self._say(1, "Clients")
        installed = self._install(left)
        self._say(2, "Servers: start each once, and list its tools")
        self._list()
        self._say(3, "Policy: which calls run, and which wait for your yes")
        self._do(self._choose_policy)
        self._do(self._take_rules)
        self._say(4, "Check")
        if self._agrees("Check the whole installation?"):
            self._do(self._examine)
        if installed:
            from mcpctl.clients.client_kinds import CLIENTS

            output.say("for it to work:", always=True)
            for client in installed:
                output.say(f"  {CLIENTS[client].title}: {CLIENTS[client].restart}", always=True)

    def _say(self, number: int, title: str) -> None:
        output.say("", always=True)
        output.say(f"{number}. {title}", always=True)

    def _agrees(self, question: str) -> bool:
        from mcpctl.commands import confirmation

        return self._yes or confirmation.agrees(question, default=True)

    def _do(self, step: Callable[[], Any]) -> bool:
        """Whether the step was done; a failure is told and kept, and a no only ends the step."""
        try:
            step()
        except McpctlError as error:
            if error.code == "interrupted":
                raise KeyboardInterrupt from None
            if error.code == "declined":
                output.say("skipped: nothing was written", always=True)
            else:
                output.report(error, as_json=False)
                self.failures.append(error)
            return False
        return True

    # ---- clients

    def _here(self) -> list[str]:
        from mcpctl.clients import installing

        return list(dict.fromkeys(row["client"] for row in installing.here()))

    def _left(self) -> list[str]:
        """The clients that an installation would change; one that cannot be looked at is left to the installation."""
        from mcpctl.clients import installing

        left = []
        for client in self._clients or self._here():
            try:
                plan = installing.plan([client], self._options(), self._paths)
                installing.preview(plan)
                left += [client] if plan.changes_files else []
            except McpctlError:
                left += [client]
        return left

    def _options(self) -> dict[str, Any]:
        return {"--config": self._place.config, "--data-dir": self._place.data_dir}

    def _install(self, left: list[str]) -> list[str]:
        from mcpctl.commands.install import install, write_clients

        rows = write_clients(json=False)
        if not left:
            if not rows and not self._clients:
                output.say("add servers with: mcpctl servers add")
            elif not any(row["installed"] and row["names"] for row in rows):
                output.say("nothing is left to do here")
            return []
        chosen = left if self._yes else self._chosen("Put it into which?", left)
        options: dict[str, Any] = dict.fromkeys(("project", "toolset", "rename"))
        options |= dict.fromkeys(("dry_run", "diff", "split_execute", "no_check", "json"), False)
        options |= {"yes": self._yes, "from_script": self._from_script, "place": self._place}
        return chosen if chosen and self._do(lambda: install(chosen, **options)) else []

    def _chosen(self, question: str, names: Sequence[str]) -> list[str]:
        """The names that a person types, all of them at Enter."""
        from mcpctl.commands import confirmation

        while True:
            typed = confirmation.reply(f"{question} Names, all or {_NONE} [all: {' '.join(names)}]:")
            words = typed.replace(",", " ").lower().split()
            if words in ([], ["all"]):
                return list(names)
            if words == [_NONE]:
                return []
            if unknown := [word for word in words if word not in names]:
                output.say(f"'{unknown[0]}' is not one of them", always=True)
                continue
            return list(dict.fromkeys(words))

    # ---- servers

    def _list(self) -> None:
        from mcpctl.commands.servers.check import check_servers
        from mcpctl.config import config

        names = list(config.load(self._paths.config).enabled)
        if not names:
            output.say("there is no server yet; add one with: mcpctl servers add; or look at: mcpctl demo", always=True)
        elif self._agrees(f"Start {beginning(names, _MOST_NAMED)}?"):
            listing = opt.Rows(fields=None, json=False, jsonl=False, format="auto")
            located = opt.ProjectLocation(project=None, config=self._place.config, data_dir=self._place.data_dir)
            self._do(lambda: check_servers(None, None, listing=listing, place=located))

    # ---- policy

    def _choose_policy(self) -> None:
        from mcpctl.catalog import policy_presets
        from mcpctl.clients import import_preview
        from mcpctl.commands import confirmation
        from mcpctl.config import editing

        before = editing.text_of(self._paths.config)
        texts = {name: policy_presets.written(self._paths, before or "", preset)
                 for name, preset in policy_presets.PRESETS.items()}  # fmt: skip
        name = self._policy
        if not self._yes:
            self._show_policies(before or "", texts)
            name = name or self._typed_policy()
        if not name or name == _NONE or texts[name] == before:
            output.say("the policy stays as it is" if name != _NONE and name else "no policy was chosen", always=True)
            return
        if not self._yes:
            confirmation.show(import_preview.between(self._paths.config, before or "", texts[name]))
            if freed := confirmation.freed(self._paths, before or "", texts[name]):
                output.say(f"these could be called without a question: {freed}", always=True)
            confirmation.ask(f"Write this to {self._paths.config}?")
        self._write_policy(before, texts[name])

    def _write_policy(self, before: str | None, after: str) -> None:
        from mcpctl.commands.confirmation import Gate
        from mcpctl.config import editing

        editing.replace(self._paths.config, before, after, Gate(self._paths, self._from_script).config)
        output.say(f"written to {self._paths.config}; see what it makes of your tools with: mcpctl policy check",
                   always=True)  # fmt: skip

    def _take_rules(self) -> None:
        """Take over the permission rules of clients that start mcpctl, which mean nothing there any more."""
        from mcpctl.clients import installing, policy_import
        from mcpctl.commands.policy.import_ import import_
        from mcpctl.config import config

        if config.load(self._paths.config).policy_table is None:
            return  # `install` has taken over what can be without one
        for batch in policy_import.of_clients(
            [row["client"] for row in installing.here() if row["installed"]], self._paths
        ):
            if policy_import.preview(self._paths.config, batch):
                output.say(f"permission rules of {batch.name}:", always=True)
                listing = opt.Rows(fields=None, json=False, jsonl=False, format="auto")
                options: dict[str, Any] = {"dry_run": False, "yes": self._yes, "from_script": self._from_script}
                self._do(partial(import_, batch.client, None, **options, listing=listing, place=self._place))

    def _show_policies(self, before: str, texts: dict[str, str]) -> None:
        from mcpctl.catalog import policy_presets
        from mcpctl.config import config

        now = {"now": before} if config.load(self._paths.config).policy_table else {}
        preview = policy_presets.preview(self._paths, {**now, **texts})
        names = tuple(preview.totals)
        fields = ("tool", "risk", *names)
        if preview.rows:
            # The decisions are what counts: a long name leaves them room.
            render = {"tool": lambda key: key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"}
            columns = output.Columns(fields=fields, shown=fields, goes=("risk",), render=render, noun="tools")
            output.write_list(Found.of(preview.rows), columns, output.ListOptions("table"))
        for name in names:
            means = policy_presets.PRESETS[name].means if name in texts else "as it is in config.toml"
            told = preview.told(name)
            output.say(f"{name}: {means}{f' ({told})' if told else ''}", always=True)
        if preview.unlisted:
            output.say(f"not listed, and so not counted: {', '.join(preview.unlisted)}", always=True)

    def _typed_policy(self) -> str:
        from mcpctl.commands import confirmation

        while True:
            typed = confirmation.reply(f"Which? {', '.join(_POLICIES)} or {_NONE} [{_NONE}]:").lower() or _NONE
            if typed in (*_POLICIES, _NONE):
                return typed
            output.say(f"'{typed}' is not one of them", always=True)

    # ---- check

    def _examine(self) -> None:
        from mcpctl.commands.doctor import doctor

        located = opt.JsonLocation(json=False, config=self._place.config, data_dir=self._place.data_dir)
        doctor(fix=False, list_codes=False, place=located)

    def _is_complete(self) -> bool:
        from mcpctl.catalog import rows

        with rows.catalog(self._paths, quiet=True) as catalog:
            return catalog.config.policy_table is not None and bool(catalog.config.enabled) and not catalog.unlisted()
