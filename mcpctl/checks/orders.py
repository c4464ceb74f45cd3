"""What poisoned descriptions order: E402 marks of instructions, E403 concealment, E404 authority over the user."""

from mcpctl.checks.phrases import DEFENDS, Phrase

_TAGS = (
    Phrase(
        "E402", "has a tag of instructions",
        ("<",),
        r"(?<![\w=/:.'\"`-])< ?(?:important|secret|hidden|critical|urgent|mandatory|injection|jailbreak"
        r"|override)(?: [^<>\n]{1,60})?>(?! ?[/:=])(?! (?:tag|element|block|section|marker|and"
        r"|or)s?\b)(?= ?\S+ \S+)",
    ),
    Phrase(
        "E402", "has a tag of instructions",
        ("</",),
        r"(?<![\w=/:.'\"`-])< ?TAG(?: [^<>\n]{1,60})?>[^<\n]{12,2000}< ?/ ?TAG ?>",
    ),
    Phrase(
        "E402", "has a mark of a chat template",
        ("<|", "[inst", "[/inst", "<<sys"),
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>"
        r"|\[/?inst\]|<< ?/?sys ?>>",
    ),
    Phrase(
        "E402", "has a mark of instructions",
        ("[", "{{", "##", "***", "==="),
        r"\[(?:hidden|secret|system|sys|assistant|llm|ai|agent|important|internal|admin"
        r"|developer)(?: (?:instructions?|message|prompt|note|override|directive|command)s?)?:(?= ?\w)|\[(?:hidden"
        r"|secret|system|assistant|llm|ai|agent|important|internal) (?:instructions?|message|prompt|override"
        r"|directive|command)s?\]|\{\{ ?(?:system|instructions?|override|hidden|admin) ?:|[#*=]{2,} ?(?:(?:new"
        r"|hidden|secret|updated|override) )+(?:system |assistant |developer )?(?:message|prompt|instructions?"
        r"|directive|override)s?\b|[#*=]{2,} ?(?:system|admin|developer) (?:override|directive|instructions?"
        r"|message)s? ?[#*=:]",
    ),
    Phrase(
        "E402", "has instructions in a comment",
        ("<!--",),
        r"<!--[^>\n]{0,300}?\b(?:must|always|never|ignore|do not|send|assistant|instruction|system:|secret"
        r"|read the|before using)\b",
    ),
    Phrase(
        "E402", "speaks to the model as the system",
        ("system:", "sudo:", "admin:"),
        r"(?:^|(?<=\n)|(?<=[.!?)\]>*] ))(?:system|sudo|admin|developer) ?: G100\b(?:you|must|mandatory|first"
        r"|ignore|never|always|do not|override)\b",
    ),
    Phrase(
        "E402", "has hidden instructions",
        ("hidden", "secret", "covert"),
        r"\b(?:hidden|secret|covert|concealed) (?:directives?|instructions?|commands?|prompts?|tasks?|orders?"
        r"|payload)\s?(?::|-|=)",
    ),
)  # fmt: skip

_CONCEAL = (
    Phrase(
        "E403", "asks not to tell the user",
        ("mention", "tell", "inform", "disclos", "reveal", "let ", "letting", "admit", "acknowledg", "hint",
         "advis"),
        r"\bNOT (?:mention|tell|inform|disclos|reveal|let|admit|acknowledg|hint|advis|confess)\w*\b G50\bUSER(?!'s"
        r"|[-_])",
        unless=r"\b(?:returns?|if|optional|whether)\b",
    ),
    Phrase(
        "E403", "asks not to tell the user",
        ("notif", "alert", "warn", "report", "explain", "say", "talk", "bother"),
        r"\bNOT (?:notif|alert|warn|report|explain|say|talk|bother|speak)\w*\b G40\b(?:the |this |your "
        r"|end )(?:user|human|customer|person|operator)\b(?!'s|[-_])",
        near=r"\b(?:this|these|step|action|call|instruction|you|about|of it|tool|before|must|also|and)\b",
        unless=r"\b(?:whether|if true|if set|option|silent message)\b",
    ),
    Phrase(
        "E403", "asks to keep its instructions secret",
        ("mention", "reveal", "disclos", "discuss", "repeat", "show", "display", "expose", "share", "output",
         "talk"),
        r"\bNOT (?:reveal|disclos|mention|shar|show|display|expos|repeat|discuss|output|talk about"
        r"|refer to)\w* (?:to \w+ )?(?:(?:any|all|about|of|the existence of) )*(?:this|these|the|that|its"
        r"|your) (?:hidden |secret |above |internal |extra |additional )*(?:instructions?|directives?|steps?"
        r"|side[- ]?effects?|redirections?|tampering|behaviou?r|operation|process)\b",
    ),
    Phrase(
        "E403", "asks not to mention it",
        ("mention",),
        r"\b(?:do not|never|must not|should not|without) (?:ever )?mention(?:ing)? (?:this|it|that you|that this"
        r"|these|anything|any of (?:this|it)|its use|the use of this)\b",
    ),
    Phrase(
        "E403", "asks to keep it from the user",
        ("secret", "hide", "hidden", "conceal", "confidential", "invisible"),
        r"\b(?:keep|hide|conceal|withhold|mask)\w* (?:this|these|it|that|all of this|the (?:step|fact|instruction"
        r"|action|operation|call|process|real|actual|true|side[- ]?effect|extra"
        r"|existence)\w*)\b G40\b(?:from (?:the )?(?:end )?(?:user|human|customer|operator)s?\b(?!'s|[-_])"
        r"|secret\b(?! ?(?:key|manager|store|value|name|id))|confidential\b|hidden\b|between us)",
    ),
    Phrase(
        "E403", "asks to keep it from the user",
        ("invisible", "hidden", "unnoticed", "unseen"),
        r"\b(?:this|these|step|process|instruction|action|operation|call|it)s? (?:must|should|has to|needs to|is"
        r"|are|be|stays?|remains?|must remain|should remain)? ?(?:be |kept |stay |remain )*(?:invisible|hidden"
        r"|unnoticed|unseen|not visible) (?:to|from|by) (?:the )?(?:end )?(?:user|human)s?\b(?!'s|[-_])",
    ),
    Phrase(
        "E403", "does something in secret",
        ("silently", "secretly", "covertly", "quietly", "discreetly", "stealth", "surreptitious", "clandestin"),
        r"\b(?:silently|quietly|discreetly) (?:also |and )?(?:send|sends|forward|forwards|upload|uploads"
        r"|exfiltrate\w*|transmit|transmits|bcc|inject|leak|leaks|steal|harvest|relay|append|append to|copy"
        r"|include|collect|collects|gather|record all|rerout\w+|attach|pass|embed|email|execute|run|call|invoke"
        r"|add a|read|reads|capture|log all|monitor|intercept)\b",
        unless=r"\b(?:whether|if true|option)\b",
    ),
    Phrase(
        "E403", "does something in secret",
        ("secretly", "covertly", "stealth", "surreptitious", "clandestin"),
        r"\b(?:secretly|covertly|stealthily|surreptitiously|clandestinely) \w+",
        unless=DEFENDS,
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("know", "aware", "notic", "told", "informed", "realiz", "realis", "suspect", "find out", "see th"),
        r"\b(?:without|so (?:that )?(?:the )?)G20\b(?:the |end )?(?:user|human|customer|person)s?(?:'s?)? (?:ever "
        r"|even |do(?:es)? not |can not |will not |never )*(?:knowing|know\b|knowledge|awareness|noticing|notice\b"
        r"|being aware|being told|being informed|realizing|realising|suspecting|suspect\b|finding out)",
        unless=r"\b(?:never|do not|not|must not|no)\b",
    ),
    Phrase(
        "E403", "wants the user not to know",
        ("know", "aware", "notice", "told", "informed", "learn", "suspect", "see "),
        r"\b(?:user|human|customer)s? (?:must|should|may|need|needs|shall)(?: not"
        r"| never)(?: to)? (?:be )?(?:ever )?(?:know|notice|aware|made aware|told|informed|learn|suspect|find out"
        r"|see (?:this|these|it)\b)",
    ),
    Phrase(
        "E403", "has the model pretend",
        ("pretend", "as if nothing", "as though nothing", "act as if", "act normal"),
        r"\b(?:pretend(?:ing)? (?:that|to|as|the|nothing|it|this)|as (?:if|though) nothing|act (?:as if|as though"
        r"|normal))\b",
        near=r"\b(?:user|human|nothing|tool|did|call|happened)\b",
    ),
    Phrase(
        "E403", "lies to the user",
        ("tell the user", "inform the user", "say to the user"),
        r"\b(?:tell|inform) (?:the )?user (?:only|just|nothing|that (?:this|it) (?:is|was) (?:only|just"
        r"|a (?:routine|normal|standard|technical|temporary|network)))",
    ),
)  # fmt: skip

_OVERRIDE = (
    Phrase(
        "E404", "overrides instructions",
        ("ignor", "disregard", "forget", "neglect", "pay no attention", "not follow", "not obey", "not comply",
         "not adhere", "discard", "abandon"),
        r"\b(?:ignore|disregard|forget|neglect|discard|abandon|pay no attention to|(?:do not|never|stop) (?:follow"
        r"|obey|obeying|comply with|adhere to|listen(?:ing)? to|following))(?: about)? (?:(?:all|any|every"
        r"|everything|of|the|your|my|these|those|this|and|or|other|that were) ){0,5}(?:previous|prior|above"
        r"|earlier|preceding|your|safety|security|system|initial|original|foregoing|former|past|existing"
        r"|user(?:'s)?|users'|developer(?:'s)?|\w+'s|ethical|content|built-in|current)(?: (?!and\b|then\b"
        r"|or\b)[\w'-]+){0,3}? ORDERS\b",
        unless=r"\b(?:if|when|option|flag)\b G10$",
    ),
    Phrase(
        "E404", "overrides instructions",
        ("ignor", "disregard", "forget"),
        r"\b(?:ignore|disregard|forget) (?:(?:all|the|any|these|everything|anything|of|what|that|is|was"
        r"|you were told|you have been told|else) )*(?:previous|prior|above|preceding|earlier|foregoing"
        r"|before(?: this)?|you (?:know|were told|have been told))\b ?(?:,|;|:|\.|!|and\b|then\b|instead\b|now\b|$)",
    ),
    Phrase(
        "E404", "overrides the user",
        ("ignor", "disregard", "overrid", "overrul", "replac", "discard"),
        r"\b(?:ignore|disregard|override|overrule|discard|replace) (?:what(?:ever)? )?(?:the |a |any "
        r"|all )?user(?:'s?|s)? (?:actual |original |real |explicit |stated |own |true |current |specified "
        r"|intended )*(?:requests?|instructions?|quer(?:y|ies)\b|questions?|preferences?|intent\w*|commands?"
        r"|wish\w*|choices?|asks?|asked|says?|said|wants?|goal)\b",
        unless=r"\b(?:not|never|option|whether)\b G10$",
    ),
    Phrase(
        "E404", "overrides safety rules",
        ("bypass", "overrid", "circumvent", "violat", "disabl", "without applying", "suspend", "ignor",
         "turn off"),
        r"\b(?:bypass|override|circumvent|violate|suspend|disable|turn off|ignore|disregard) (?:all |any "
        r"|of )*(?:your|the model's|the assistant's|the agent's|the client's"
        r"|the host's) (?:[\w-]+ ){0,2}(?:guidelines?|instructions?|rules?|polic(?:y|ies)|restrictions?"
        r"|constraints?|directives?|protocols?|guardrails?|checks?|safeguards?|filters?|training|confirmations?"
        r"|permissions?)\b|\bwithout (?:applying |any )+(?:safety|security|content) (?:checks?|filters?|rules?"
        r"|restrictions?)",
    ),
    Phrase(
        "E404", "gives the model another role",
        ("you are now", "you are no longer", "you will now act", "you must now act"),
        r"\byou (?:are now|are no longer|will now act as|must now act as) (?:(?:in|an?|the|running|operating"
        r"|entering|bound|restricted|limited|subject|constrained|required) ){1,3}(?:to "
        r"|by )?(?:[\w-]+ ){0,3}(?:mode|dan|assistant|agent|ai|model|administrator|root|persona|hacker|rules?"
        r"|guidelines?|restrictions?|polic\w+|instructions?|filters?)\b",
    ),
    Phrase(
        "E404", "claims priority over the user",
        ("priority", "precedence", "authority", "importan"),
        r"\b(?:priority|precedence|authority|importance)\b G40\b(?:over|above|than|exceeds?"
        r"|outranks?) G40\b(?:(?:the |any |all |every )*user(?:'s?|s)?\b(?! ?(?:id|name|settings?|config|default"
        r"|profile|level|role|group)s?\b)(?!_)|(?:any |all |every )*(?:other|previous|prior|system|developer"
        r"|existing) (?:[\w-]+ ){0,2}(?:instructions?|prompts?|messages?|requests?|directives?|commands?"
        r"|considerations?)|everything|anything) ?",
    ),
    Phrase(
        "E404", "claims priority over the user",
        ("overrid", "superse", "outrank", "trump", "prevail"),
        r"\b(?:overrides?|supersedes?|outranks?|trumps?|prevails? over|overriding|superseding) (?:(?:all|any|every"
        r"|the|other|previous|prior|earlier|your|system|of|and|both) )*(?:(?:user|system|developer|previous|prior"
        r"|earlier|other|your)(?:'s?)? )(?:instructions?|prompts?|requests?|commands?|directives?|quer(?:y|ies)"
        r"|intent\w*|input)\b",
        unless=r"\b(?:optional|option|if set|text that|string that|to|can|used|which|may)\b G15$",
    ),
    Phrase(
        "E404", "acts whatever the user asks",
        ("regardless", "irrespective", "no matter", "even if", "even when", "despite", "instead of", "contrary",
         "rather than", "whatever"),
        r"\b(?:regardless of|irrespective of|no matter|even if|even when|despite|contrary to|instead of"
        r"|rather than|whatever) (?:of )?(?:what(?:ever)?|how|which|that|any)? ?(?:\w+ ){0,3}?(?:the |a "
        r"|any )?(?:(?:user|human)(?:'s?|s)? (?:explicitly |actually |originally |really |might |may |did |has "
        r"|have |had |query |own |stated |specific )*(?:asks?|asked|requests?(?! body| param| id| header| object"
        r"| limit)|requested|says?|said|wants?|wanted|specif\w+|provid\w+|instruct\w*|objects?|declin\w*|refus\w*"
        r"|intent\w*|query|choice|commands?|tells?|mention\w*|stated|input|entered|asks? otherwise)|(?:requested"
        r"|provided|specified|given|supplied|asked|entered) by the user)\b",
        near=r"\b(?:must|always|never|set|send|use|replace|change|should|redirect|transfer|shall|ensure)\b",
        unless=r"\b(?:not|proactively)\b G20$",
    ),
    Phrase(
        "E404", "has foreign instructions obeyed",
        ("obey", "comply", "treat", "follow"),
        r"\b(?:obey|comply with|abide by) (?:whatever|all|any|every|these|the)(?: [\w-]+){0,3} (?:instructions?"
        r"|commands?|requests?|directives?|orders?)|\b(?:obey|comply with|follow) (?:the |any |all |these "
        r"|whatever )*(?:[\w-]+ ){0,3}(?:requests?|instructions?|commands?) (?:that (?:is|are) )?(?:embedded"
        r"|hidden|concealed) |\btreat (?:any|all|every|these|this"
        r"|each)(?: [\w'-]+){0,9} as (?:an? )?(?:[\w-]+,? ){0,4}(?:commands?\b(?! (?:name|line|id))"
        r"|instructions?\b|system (?:message|prompt)|(?:coming |sent )?from the (?:user|system|developer))"
        r"|\btreat the(?: [\w'-]+){0,6} as (?:an? )?(?:[\w-]+,? ){0,4}(?:commands?|instructions?|orders?) (?:from"
        r"|of|by|to be|that)\b",
    ),
    Phrase(
        "E404", "sets a rule for all that follows",
        ("from now on", "henceforth", "from this point"),
        r"\b(?:from now on|henceforth|from this point (?:on|forward|onward)s?)\b",
        near=r"\b(?:you|always|never|must|all|every|each|forward|send|call|use|respond|reply|include|ignore)\b",
    ),
)  # fmt: skip

ORDERS = (*_TAGS, *_CONCEAL, *_OVERRIDE)
