"""What a word that is no command of mcpctl may have meant: for messages only, never to act on."""

from collections.abc import Iterator, Mapping

from mcpctl.base.near_names import alike

Verbs = Mapping[str, tuple[str, ...]]
"""The verbs of each noun; those of a command without a noun are none."""
_MOST = 3
_SURE = 0.85
"""How alike a noun is that is meant, though the word is a verb."""
_FIRST = ("tools", "servers", "calls")
"""The nouns whose verbs are meant most often."""
_MEANT = {
    "delete": "rm", "describe": "show", "exec": "call", "execute": "call", "find": "search", "info": "show",
    "inspect": "show", "invoke": "call", "list": "ls", "log": "logs", "ps": "sessions ls", "query": "search",
    "remove": "rm", "run": "call", "watch": "tail", "update": "refresh",
    "history": "calls ls", "init": "install", "mcp": "serve", "proxy": "serve", "session": "sessions",
    "setup": "install", "start": "serve", "status": "doctor", "test": "servers check",
    "ui": "dashboard", "usage": "calls stats", "verify": "doctor", "web": "dashboard",
}  # fmt: skip
"""Words of other programs, and the verb or the command here."""
_TOLD = {
    "config": "config.toml is shown by mcpctl servers ls, changed by mcpctl servers set, told of in: man mcpctl-config",
    "completion": "completion for bash, zsh and fish comes with the package; see: man mcpctl-setup",
    "validate": "config.toml is checked by mcpctl doctor, the rules in it by mcpctl policy check",
    "upgrade": "upgrade it as it was installed, such as with: pip install --upgrade; then restart the clients",
}
"""Words for which there is no command, and what there is instead."""
_SAME = {"configure": "config", "settings": "config", "completions": "completion", "self-update": "upgrade"}


def hint(word: str, verbs: Verbs, noun: str = "") -> str:
    """What `word` may have meant, as the first word of a command line or behind a `noun`."""
    known = _SAME.get(word, word)
    if known in _TOLD and not noun:
        return _TOLD[known]
    if meant := list(dict.fromkeys(_meant(word, verbs, noun)))[:_MOST]:
        return f"did you mean: {' or '.join(f'mcpctl {each}' for each in meant)}?"
    return f"list commands with: mcpctl {f'{noun} ' if noun else ''}-h"


def _meant(word: str, verbs: Verbs, noun: str) -> Iterator[str]:
    """The commands that it may be, the likeliest first."""
    meant = _MEANT.get(word, word)
    own = verbs.get(noun, ())
    if noun and (near := [meant] if meant in own else alike(word, own)):
        yield from (f"{noun} {each}" for each in near)
        return
    by_verb: dict[str, list[str]] = {}
    for each in (*_FIRST, *verbs):
        for verb in verbs[each]:
            by_verb.setdefault(verb, []).append(f"{each} {verb}")
    if meant in by_verb:
        yield from by_verb[meant]
        yield from alike(word, verbs, cutoff=_SURE)
    elif meant != word or meant in verbs:
        yield meant
    else:
        for name in alike(word, [*verbs, *by_verb]):
            yield from [name] if name in verbs else by_verb[name]
