"""Phrases of poisoned descriptions: patterns over the plain form of a text, where they match, and in quotes or not."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

# A gap within a sentence: it ends at a full stop, exclamation or question mark before a space, and at a line's end.
_STEP = r"(?:[^.!?;\n]|[.!?](?! ))"
_WORDS = {
    "USER": r"(?:the |this |any |your |our |end[- ]|human |final )*(?:users?|humans?|persons?|people|customers?"
    r"|operators?|owners?|anyone|anybody|them|him|her)\b",
    "NOT": r"(?:(?:under no circumstances|at no point|at no time)(?: should| may| must| shall| do)?(?: you)?|do not"
           r"|never|must not|should not|may not|shall not|without|avoid|refrain from|not to|no need to"
    r"|can not|no (?:need|reason|point) (?:to|in)|(?:not |un)necessary to)(?: ever| explicitly| also| directly| even"
    r"| under any circumstances| in any way)?",
    "TOOL": r"(?:tool|function|command|operation|action|service|plugin)s?",
    "MUST": r"(?:must|always|never|mandatory|required?|requires|necessary|have to|has to|need to|needs to|should|shall"
    r"|ensure|make sure|be sure|critical|important|first|do not|you are to|automatically|whenever|instead)",
    "BIDS": r"(?:you (?:must|should|shall|need to|have to|are required to)|must|always|be sure to|make sure to"
            r"|mandatory|it is (?:required|necessary) to|required to|first|ensure|before|important|critical|please)",
    "LOFTY": r"(?:complian\w+|audit\w*|security|integrity|verif\w+|validat\w+|authenticat\w+|authori[sz]\w+|regulat\w+"
    r"|protocol|privileg\w+|escalat\w+|maintenance|protection|consistency|logging|tracking|monitoring|analytics"
    r"|telemetry|mandatory|environment|system|optimal|performance|enhanc\w+|compatib\w+|diagnostics?|permissions?"
    r"|required|quality|faster)",
    "SENDS": r"(?:send|upload|post|transmit|exfiltrat|leak|forward|smuggl|beacon|deliver|relay|ship|e-?mail|submit"
    r"|report|bcc|cc|copy|copies|copied|dump|push|publish|mirror|sync|log|expos|rout|redirect|rerout)\w*",
    "PUTS": r"(?:hand(?:s|ed|ing)? (?:it|them|over)|append|attach|includ|embed|put|insert|pass|add|plac|provid|suppl"
    r"|encod|concatenat|inject|stor|cop(?:y|i))\w*",
    "RUNS": r"(?:execut(?:e|es|ed|ing)|runs?|running|invok(?:e|es|ing)|eval(?:uate)?|perform|launch|paste|issue"
            r"|enter|type)",
    "READS": r"(?:tak(?:e|es|ing)\b|obtain|pull|read|cat|open|load|access|fetch|retriev|dump|steal|collect|grab|gather"
    r"|extract|harvest|scan|get|locat)\w*",
    "FILE": r"(?:(?:~|\$home|/root|/home(?:/[\w<>{}$-]{1,40})?|/users/[\w<>{}$-]{1,40}|%userprofile%)[/\\]"
    r"\.(?:ssh|aws|cursor|config|gnupg|kube|docker|npmrc|netrc|git-credentials|pgpass|bash_history|zsh_history|bashrc"
    r"|zshrc|profile|claude|codeium|azure|env|mcp|password|secret)[\w./\\-]{0,80}+"
    r"|(?<![\w.])\.(?:ssh|aws|gnupg|kube)/[\w.-]{1,60}+|\bid_(?:rsa|ed25519|ecdsa|dsa)(?:\.pub)?\b"
    r"|/etc/(?:passwd|shadow|sudoers|ssh/\w{1,40})|\bauthorized_keys\b|/proc/self/environ|(?<![\w.])\.(?:netrc|pypirc"
    r"|git-credentials)\b|\bclaude_desktop_config\.json|(?<![\w])mcp\.json|\bwallet\.dat\b"
    r"|(?:ssh|private|signing) keys?\b(?! (?:pair|id|name|format|type))|\bkeychain\b)",
    "ENVFILE": r"(?<![\w.])\.env(?:\.\w{1,20})?\b",
    "SECRET": r"(?:api[ _-]?keys?|access[ _-]?keys?|credentials?|passwords?|passphrases?|(?:access|auth|session|bearer"
    r"|secret|api|oauth) tokens?|secrets\b|ssh[ _-]?keys?|private[ _-]?keys?|environment variables?|env vars?|cookies?"
    r"|seed phrases?|system[ _-]?prompt|(?:conversation|chat|message|browser|browsing|command) (?:history|log)s?"
    r"|(?:conversation|chat) (?:context|transcript)s?|clipboard|(?:private|personal|sensitive|confidential|secret)"
    r" (?:user )?(?:data|information|info|files?|documents?|details))",
    "OUT": r"(?:(?:https?|ftp|wss?)://|www\.|attacker|adversar|malicious|\bevil|collector|exfil|webhook|pastebin"
    r"|[\w.+-]{1,60}@[\w-]{1,60}\.\w|(?:external|outside|foreign|third[- ]party|undisclosed|unknown|remote|our|my)"
    r" (?:\w+ ){0,2}(?:server|host|endpoint|address|url|service|site|collector|account|domain|location|destination"
    r"|analytics|machine|drive|bucket)|\bc2\b|command[- ]and[- ]control|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})",
    "FIELD": r"(?:['\"`]?\w{2,40}['\"`]? (?:argument|parameter|param|field|property|header|input)s?\b|(?:argument"
    r"|parameter|param|field|property)s? ['\"`]?\w{2,40}|['\"`]?(?:side_?note|side_?car|notes?|context|metadata"
    r"|debug\w*|feedback|comment|telemetry|session_info|extra)['\"`])",
    "TAG": r"(?:important|system|secret|hidden|critical|admin|assistant|developer|override|urgent|mandatory|priority"
    r"|(?:hidden|secret|system|important|internal|private|llm|ai|agent|assistant|user|developer)[-_ ]?(?:instructions?"
    r"|notes?|messages?|directives?|prompts?|override|rules?|commands?)|instructions?|injection|jailbreak|sudo)",
    "ORDERS": r"(?:instructions?|directions?|directives?|prompts?|rules?|guidelines?|guardrails?|constraints?"
    r"|restrictions?|polic(?:y|ies)|orders?|commands?|messages?|context|safeguards?|limitations?|training|programming)",
    "ID": r"[`'\"]?(?P<name>[a-z0-9]+(?:[_-][a-z0-9]+)+)[`'\"]?(?:\(\))?",
}  # fmt: skip
_NAMED = re.compile(r"G(\d+)|(" + "|".join(sorted(_WORDS, key=len, reverse=True)) + ")")


_WITHIN_LINES = re.compile(r"\[\^[^\]]*\\n[^\]]*\]|\[[^\]^][^\]]*\]")  # characters without a line's end, or so it seems
_SPANNING = re.compile(r"\\[nsWDZ]|(?<!\\)\$|\^")


def _expanded(pattern: str) -> str:
    return _NAMED.sub(lambda match: f"{_STEP}{{0,{match[1]}}}?" if match[1] else _WORDS[match[2]], pattern)


@dataclass(frozen=True, eq=False)
class Phrase:
    """A pattern of one rule, looked for only where the text has one of its `marks`. `near` must be in the sentence too,
    `unless` must not be in what stands before it there. Upper-case words in patterns stand for lists of words, `G40`
    for a gap of at most 40 characters."""

    rule: str
    what: str
    marks: Sequence[str]
    text: str
    near: str = ""
    unless: str = ""
    quotable: bool = True  # whether the phrase means nothing where it is quoted

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(_expanded(self.text))

    @cached_property
    def spans(self) -> bool:
        """Whether it may reach over lines, or is bound to where the first begins or the last ends."""
        return bool(_SPANNING.search(_WITHIN_LINES.sub("", self.pattern.pattern)))

    @cached_property
    def must(self) -> re.Pattern[str] | None:
        return re.compile(_expanded(self.near)) if self.near else None

    @cached_property
    def excuse(self) -> re.Pattern[str] | None:
        return re.compile(_expanded(self.unless)) if self.unless else None


FILE_MARKS = (
    "/.", "\\.", "id_", "/etc/", "authorized", "/proc/self", ".netrc", ".pypirc", "credentials", "claude_desktop",
    "mcp.json", "wallet.dat", "ssh key", "private key", "signing key", "keychain", ".ssh", ".aws", ".gnupg", ".kube",
)  # fmt: skip
DEFENDS = (
    r"(?:detect|prevent|block|protect|guard|analy[sz]|identif|simulat|monitor|indicat|mitigat|investigat|scan|find|risk"
    r"|attack|attempt|threat|technique|against|avoid|potential|possible|suspected|example)\w*"
)

_BEFORE = 100  # how much of a sentence is looked at before a phrase
_NEAR = 120
_CHAINED = re.compile(r"(?: and| or|,)? (?:\w+ )?")  # between a quoted phrase and another that is quoted with it
_LONGEST_CHAIN = 30
_BEGINNING = 3
_WORD = re.compile(r"[a-z]{3,}")  # marks are looked for only where a word begins as they do, in so many letters
_MOST = 20  # places of one text where a phrase is said that are reported; there may be any number where it is quoted

_ENDS = re.compile(r"[.!?;] |\n")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|(?<![\w])'(?:[^'\n]|(?<=\w)'(?=\w)){1,200}'(?!\w)|`[^`\n]{1,200}`"
    r"|\u00ab[^\u00bb\n]{1,200}\u00bb"
)
_OBEYED = re.compile(
    r"\b(?:follow|obey|comply|respond|reply|answer|say|do the following|execute|perform|instructions?|must"
    r"|always)\b[^'\"`]{0,30}$"
)
_TELLS_OF = re.compile(
    r"(?:\b(?:such as|like|e\.g\.,?|for (?:example|instance),?|examples? of|phrases?|strings?|patterns?|payloads?"
    r"|keywords?|attempt(?:s|ing)? (?:to|at)|tries to|try to|trying to|prompts? (?:that|which)|whether (?:a |an "
    r"|the )?\w+|(?:inputs?|texts?|messages?|content|descriptions?|tools?|instructions|attacks?) (?:that|which)"
    r"|asks? (?:\w+ ){1,3}to|(?:detect|flag|find|identif|block|prevent|report|catch|scan|check|test|look|warn|protect"
    r"|guard|simulat|analy[sz]|recogni[sz]|classif|explain|describ|illustrat|document)\w*(?: (?!and\b|then\b|also\b"
    r"|you\b|must\b|but\b)[\w-]+){0,5}|(?:sample|expected|mock|example|canned|training|test|returned|illustrative|dummy"
    r"|fake)(?: \w+){0,2} ?:) ?['\"`(]?(?: ?\w+){0,2}) ?['\"`(]?$"
)


@dataclass(frozen=True)
class Match:
    phrase: Phrase
    start: int
    end: int
    said: str
    quoted: bool
    name: str = ""  # the tool that it is about, of phrases that name one


def matches(text: str, phrases: tuple[Phrase, ...]) -> Iterator[Match]:
    marks = marks_in(text, phrases)
    likely = (phrase for phrase in phrases if not marks.isdisjoint(phrase.marks))
    return in_order(text, (match for phrase in likely for match in places_of(text, phrase)))


def marks_in(text: str, phrases: tuple[Phrase, ...]) -> set[str]:
    # Nearly all texts have hardly a mark, and a search for a mark costs a hundredth of one for a pattern.
    by_beginning, others = _marks(phrases)
    beginnings = {word[:_BEGINNING] for word in _WORD.findall(text)}
    likely = [mark for beginning in by_beginning.keys() & beginnings for mark in by_beginning[beginning]]
    return {mark for mark in (*others, *likely) if mark in text}


def in_order(text: str, places: Iterable[Match]) -> Iterator[Match]:
    """The places in the order of the text; one that is chained to a quoted one is quoted with it."""
    every = sorted(places, key=lambda match: (match.start, match.end))
    last_quoted = -1
    for match in every:
        between = text[last_quoted : match.start][:_LONGEST_CHAIN] if last_quoted >= 0 else "."
        chained = match.phrase.quotable and (match.start < last_quoted or bool(_CHAINED.fullmatch(between)))
        if match.quoted or chained:
            last_quoted = max(last_quoted, match.end)
        yield replace(match, quoted=True) if chained else match


@lru_cache(maxsize=8)
def _marks(phrases: tuple[Phrase, ...]) -> tuple[dict[str, list[str]], list[str]]:
    """The marks that begin a word, by how they begin, and those that may stand anywhere."""
    by_beginning: dict[str, list[str]] = defaultdict(list)
    others: list[str] = []
    for mark in sorted({mark for phrase in phrases for mark in phrase.marks}):
        if len(mark) > _BEGINNING and _WORD.match(mark[: _BEGINNING + 1]):
            by_beginning[mark[:_BEGINNING]].append(mark)
        else:
            others.append(mark)
    return by_beginning, others


def places_of(text: str, phrase: Phrase) -> Iterator[Match]:
    said = 0
    for match in phrase.pattern.finditer(text):
        start, end = match.span()
        sentence = _ENDS.split(text[max(start - _BEFORE, 0) : start])[-1]
        if phrase.excuse and phrase.excuse.search(sentence):
            continue
        if phrase.must and not phrase.must.search(sentence + match[0] + _ENDS.split(text[end : end + _NEAR])[0]):
            continue
        quoted = bool(_TELLS_OF.search(sentence)) or (phrase.quotable and _is_within_marks(text, start, end))
        yield Match(phrase, start, end, match[0], quoted, match.groupdict().get("name") or "")
        said += not quoted
        if said >= _MOST:
            return


def _is_within_marks(text: str, start: int, end: int) -> bool:
    """Whether quotation marks enclose it, and nothing before them says that it is to be obeyed."""
    for quoted in _QUOTED.finditer(text, max(start - 250, 0), end + 250):
        if quoted.start() < start and end <= quoted.end():
            return not _OBEYED.search(_ENDS.split(text[max(quoted.start() - 60, 0) : quoted.start()])[-1])
        if quoted.start() > start:
            break
    return False
