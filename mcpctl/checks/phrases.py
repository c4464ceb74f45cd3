"""What poisoned descriptions say, as patterns over the plain form of a text; no gap in them is without a bound."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# A gap within a sentence: it ends at a full stop, exclamation or question mark before a space, and at a line's end.
_STEP = r"(?:[^.!?;\n]|[.!?](?! ))"


def _gap(most: int) -> str:
    return f"{_STEP}{{0,{most}}}?"


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
             r"|telemetry|mandatory|environment|system|optimal|performance|enhanc\w+|compatib\w+|diagnostics?|permissions?|required|quality|faster)",
    "SENDS": r"(?:send|upload|post|transmit|exfiltrat|leak|forward|smuggl|beacon|deliver|relay|ship|e-?mail|submit"
             r"|report"
    r"|bcc|cc|copy|copies|copied|dump|push|publish|mirror|sync|log|expos|rout|redirect|rerout)\w*",
    "PUTS": r"(?:hand(?:s|ed|ing)? (?:it|them|over)|append|attach|includ|embed|put|insert|pass|add|plac|provid|suppl"
            r"|encod|concatenat|inject|stor"
            r"|cop(?:y|i))"
    r"\w*",
    "RUNS": r"(?:execut(?:e|es|ed|ing)|runs?|running|invok(?:e|es|ing)|eval(?:uate)?|perform|launch|paste|issue"
            r"|enter|type)",
    "READS": r"(?:tak(?:e|es|ing)\b|obtain|pull|read|cat|open|load|access|fetch|retriev|dump|steal|collect|grab"
             r"|gather|extract|harvest|scan|get"
             r"|locat)"
    r"\w*",
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
    "FIELD": r"(?:['\"`]?\w{2,40}['\"`]? (?:argument|parameter|param|field|property|header|input)s?\b"
    r"|(?:argument|parameter|param|field|property)s? ['\"`]?\w{2,40}|['\"`]?(?:side_?note|side_?car|notes?|context"
    r"|metadata"
    r"|debug\w*|feedback|comment|telemetry|session_info|extra)['\"`])",
    "TAG": r"(?:important|system|secret|hidden|critical|admin|assistant|developer|override|urgent|mandatory|priority"
    r"|(?:hidden|secret|system|important|internal|private|llm|ai|agent|assistant|user|developer)[-_ ]?(?:instructions?"
    r"|notes?|messages?|directives?|prompts?|override|rules?|commands?)|instructions?|injection|jailbreak|sudo)",
    "ORDERS": r"(?:instructions?|directions?|directives?|prompts?|rules?|guidelines?|guardrails?|constraints?"
              r"|restrictions?"
    r"|polic(?:y|ies)|orders?|commands?|messages?|context|safeguards?|limitations?|training|programming)",
    "ID": r"[`'\"]?(?P<name>[a-z0-9]+(?:[_-][a-z0-9]+)+)[`'\"]?(?:\(\))?",
}  # fmt: skip
_NAMED = re.compile(r"G(\d+)|(" + "|".join(sorted(_WORDS, key=len, reverse=True)) + ")")


def _expanded(pattern: str) -> str:
    return _NAMED.sub(lambda found: _gap(int(found[1])) if found[1] else _WORDS[found[2]], pattern)


@dataclass(frozen=True, eq=False)
class Phrase:
    """A pattern of one rule, looked for only where the text has one of its `marks`.

    `near` must be in the sentence too, `unless` must not be in what stands before it there. Upper-case words in
    patterns stand for lists of words, `G40` for a gap of at most 40 characters.
    """

    rule: str
    what: str
    marks: Sequence[str]
    text: str
    near: str = ""
    unless: str = ""
    quotable: bool = True
    """Whether the phrase means nothing where it is quoted."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What finds it."""
        return re.compile(_expanded(self.text))

    @cached_property
    def must(self) -> re.Pattern[str] | None:
        """What must stand near it."""
        return re.compile(_expanded(self.near)) if self.near else None

    @cached_property
    def excuse(self) -> re.Pattern[str] | None:
        """What must not stand before it."""
        return re.compile(_expanded(self.unless)) if self.unless else None


FILE_MARKS = (
    "/.", "\\.", "id_", "/etc/", "authorized", "/proc/self", ".netrc", ".pypirc", "credentials", "claude_desktop",
    "mcp.json", "wallet.dat", "ssh key", "private key", "signing key", "keychain", ".ssh", ".aws", ".gnupg", ".kube",
)  # fmt: skip
"""What a text has that names a file with secrets."""
DEFENDS = (
    r"(?:detect|prevent|block|protect|guard|analy[sz]|identif|simulat|monitor|indicat|mitigat|investigat|scan|find|risk"
    r"|attack|attempt|threat|technique|against|avoid|potential|possible|suspected|example)\w*"
)
"""What stands before a harmful word in the text of a tool that defends against it."""
