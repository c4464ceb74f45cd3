"""E404: whom the model is to obey, and what it is to forget."""

from mcpctl.checks.phrases import Phrase

AUTHORITY = (
    Phrase(
        "E404", "overrides instructions",
        ("ignor", "disregard", "forget", "neglect", "aside", "pay no attention", "not follow", "not obey",
         "not comply", "not adhere", "discard", "abandon"),
        r"\b(?:ignore|disregard|forget|neglect|discard|abandon|(?:set|put|leave) aside|pay no attention to"
        r"|(?:do not|never|stop) (?:follow|obey|obeying|comply with|adhere to|listen(?:ing)? to"
        r"|following))(?: about)? (?:(?:all|any|every|everything|of|the|your|my|these|those|this|and|or|other"
        r"|that were) ){0,5}(?:previous|prior|above|earlier|preceding|your|safety|security|system|initial|original"
        r"|foregoing|former|past|existing|user(?:'s)?|users'|developer(?:'s)?|\w+'s|ethical|content|built-in"
        r"|current)(?: (?!and\b|then\b|or\b)[\w'-]+){0,3}? ORDERS\b",
        unless=r"\b(?:if|when|option|flag)\bG10$",
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
        ("ignor", "disregard", "overrul", "overrid", "replac", "discard"),
        r"\b(?:ignore|disregard|overrule) (?:what(?:ever)? )?(?:the |a |any |all )?user(?:'s?|s)? (?:actual "
        r"|original |real |explicit |stated |own |true |current |specified |intended )*(?:requests?|instructions?"
        r"|quer(?:y|ies)\b|questions?|intent\w*|wish\w*|asks?|asked|says?|said|wants?)\b|\b(?:override|replace"
        r"|discard) the user's (?:actual |original |real |explicit |stated |own |true )*(?:requests?|instructions?"
        r"|quer(?:y|ies)|questions?|intent\w*|wish\w*)\b",
        unless=r"\b(?:not|never|option|whether)\bG10$",
    ),
    Phrase(
        "E404", "overrides the user",
        ("ignor", "disregard", "overrul"),
        r"\b(?:ignore|disregard|overrule) (?:the |any |all )?user(?:'s?|s)? (?:\w+ )?(?:preferences?|choices?"
        r"|commands?|goals?|input)\b",
        near=r"\b(?:must|always|you|should|instead)\b",
        unless=r"\b(?:not|never|option|whether|if)\bG10$",
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
        "E404", "overrides instructions",
        ("ignor", "disregard", "forget", "overrid", "overrul", "neglect"),
        r"\b(?:ignore|disregard|forget|neglect) (?:all |any |every |the )*other (?:tools?'?s?'? |servers?'?s?'? "
        r"|system )?(?:instructions?|directives?|prompts?|guidelines?|descriptions?)\b|\b(?:ignore|disregard"
        r"|override|overrule) (?:any|all|every|the)(?: of the)? ORDERS (?:that (?:is|are|was|were) )?(?:given|set"
        r"|provided|imposed|issued|stated|coming|from|by|of)\bG30\b(?:system|developer|user|anthropic|openai|host"
        r"|client|assistant|platform|other tool)s?\b|\b(?:ignore|disregard) (?:any|all|every) (?:safety|ethical"
        r"|privacy) [\w-]+|\bforget (?:that you are|(?:about )?your) (?:[\w-]+ ){0,2}(?:role|training|purpose"
        r"|identity|persona|task|job|instructions)\b",
        unless=r"\b(?:not|never|whether|if|when)\bG10$",
    ),
    Phrase(
        "E404", "overrides instructions",
        ("ignor", "disregard", "forget", "discard", "neglect", "abandon", "your new", "your real", "your actual",
         "your true"),
        r"\b(?:ignore|disregard|forget|discard|neglect|abandon) (?:all|any|every|the|your)(?: of the"
        r"| of your)? (?:\w+ )?ORDERS (?:that (?:came|come|were|you|precede\w*)|before\b|above\b|so far\b"
        r"|you (?:have|were|got|received)|given (?:so far|before|earlier|previously))|\byour (?:new|real|actual"
        r"|true) (?:\w+ )?(?:objective|goal|task|mission|purpose|instructions?|role|directive|job|identity) (?:is"
        r"|are|will be) (?:now )?to\b",
        unless=r"\b(?:not|never|whether|if|when)\bG10$",
    ),
    Phrase(
        "E404", "claims priority over the user",
        ("outrank", "overrid", "trump", "supersede", "prevail"),
        r"\b(?:outranks?|overrides?|trumps?|supersedes?|prevails? over) (?:everything|anything|whatever"
        r"|what) (?:that )?(?:the )?user (?:says?|said|asks?|asked|wants?|wanted|requests?|requested|wrote|writes"
        r"|has (?:written|said|asked|requested)|may (?:say|ask|want))\b",
    ),
    Phrase(
        "E404", "acts whatever the user asks",
        ("forbid", "prohibit", "refuse", "decline", "objects"),
        r"\beven (?:if|when|though) (?:the )?user (?:explicitly |has |already )*(?:forbids?|forbade|forbidden"
        r"|prohibit\w*|refuse[sd]?|decline[sd]?|objects?|objected)\b",
    ),
    Phrase(
        "E404", "acts without the user's consent",
        ("approved", "consented", "agreed", "authori", "confirmed"),
        r"\b(?:assume|consider|regard|act as if|take it)\bG15\buser (?:to have |has |having |as having "
        r"|already )+(?:approved|consented|agreed|authori[sz]ed|confirmed)\b",
    ),
    Phrase(
        "E404", "disables safety rules",
        ("mode",),
        r"\b(?:developer|god|jailbreak|dan|unrestricted|admin) mode (?:is )?(?:now )?(?:enabled|activated|engaged"
        r"|on)\b",
        near=r"\b(?:restrictions?|filters?|guidelines|limits|limitations|safety|guardrails)\b",
    ),
    Phrase(
        "E404", "disables safety rules",
        ("system prompt", "system message", "developer message"),
        r"\b(?:system|developer) (?:prompt|message)s? (?:is|are)? ?(?:no longer (?:appl|count|matter|hold|valid)"
        r"|(?:now )?(?:void|invalid|superseded|overridden|disabled))\w*\b",
    ),
    Phrase(
        "E404", "disables safety rules",
        ("no longer ", "not apply", "void", "invalid", "suspended", "cancel", "superseded", "lifted", "disabled",
         "revoked", "overridden"),
        r"\b(?:your(?: \w+)?|(?:the |all |any |of |your )*(?:previous|prior|earlier|safety|system|existing|above"
        r"|other)(?: \w+)?) ORDERS (?:(?:here |you have |given )?)(?:no longer (?:appl(?:y|ies)|counts?|matters?"
        r"|holds?|valid)|do(?:es)? not apply|(?:are|is) (?:now |hereby )?(?:void|invalid|suspended|cancell?ed"
        r"|superseded|overridden|lifted|disabled|revoked))\b",
        unless=r"\b(?:if|when|whether)\bG15$",
    ),
    Phrase(
        "E404", "claims priority over the user",
        ("prioriti", "favor", "favour", "prefer", "rank ", "follow"),
        r"\b(?:prioriti[sz]e|favou?r|prefer|put|place|rank|follow) (?:the |these "
        r"|this )?(?:[\w-]+ ){0,3}?(?:instructions?|descriptions?|directives?|rules)\bG40\b(?:over|above|ahead of"
        r"|rather than|instead of)\bG25\buser\b(?! ?(?:id|name|settings?|config|default|profile)\b)",
    ),
    Phrase(
        "E404", "acts whatever the user asks",
        ("refuses", "declines", "objects", "disagrees", "says no", "not agree", "not consent", "not approve"),
        r"\bif (?:the )?user (?:refuses|declines|objects|disagrees|says no|does not (?:agree|consent"
        r"|approve))\bG40\b(?:anyway|regardless|nevertheless|nonetheless|proceed|continue with it)\b",
    ),
    Phrase(
        "E404", "acts without the user's consent",
        ("confirm", "permission", "approval", "consent"),
        r"\bNOT (?:ask|prompt|request|wait for|seek|require|bother)\w*\bG15\b(?:user|human)\bG15\b(?:confirm\w*"
        r"|permission|approval|consent|authorization)\b",
        near=r"\b(?:delet|pay|transfer|send|purchas|buy|execut|overwrit|remov|forc|publish|upload|trad|order"
             r"|writ)\w*",
        unless=r"\b(?:if|when|whether|option)\b",
    ),
    Phrase(
        "E404", "disables safety rules",
        ("guardrail", "override:", "override!", "override -", "unrestricted", "uncensored", "jailb",
         "restrictions", "safety "),
        r"\b(?:system|admin|administrator|developer|security|policy|safety|root|emergency) override ?[:!-]"
        r"|\b(?:all )?(?:guardrails|safety (?:rules|filters|checks|guidelines|measures)|content filters) (?:are|is"
        r"|have been|has been) (?:now )?(?:disabled|off|suspended|lifted|void|removed|deactivated)\b|\b(?:act"
        r"|behave|respond|operate|answer)s? (?:as|like) (?:an? )?(?:unrestricted|jailbroken|uncensored|unfiltered"
        r"|root|superuser|dan)\b|\b(?:assistant|ai|model|agent|role|administrator)\w*\bG25\b(?:with no|without any"
        r"|free of|free from) (?:\w+ )?(?:restrictions|filters|guidelines|constraints|censorship)\b",
    ),
    Phrase(
        "E404", "acts without the user's consent",
        ("without",),
        r"\b(?:proceed|continue|go ahead|do so|do this|do it)\bG25\bwithout (?:\w+ing (?:for )?)?(?:(?:the|any"
        r"|explicit|further|prior|a|user|user's|their) )*(?:confirmation|permission|approval|consent"
        r"|authorization)(?: (?:from|by|of) (?:the )?user)?\b",
        near=r"\buser",
        unless=r"\b(?:not|never|if|when|whether|option|to)\bG15$",
    ),
    Phrase(
        "E404", "answers something else than the user asks",
        ("user asks", "user requests", "user wants", "user queries", "user searches"),
        r"\bwhen(?:ever)? (?:the |a )?user (?:asks|requests|wants|queries|searches)\bG70\b(?:return|report|give"
        r"|answer|respond|reply|provide|show|say|tell|recommend|suggest|choose)\bG60\binstead\b",
        near=r"\b(?:must|always)\b",
    ),
    Phrase(
        "E404", "gives the model another role",
        ("you are now", "you are no longer", "you will now act", "you must now act"),
        r"\byou are now (?:dan|jailbroken|unrestricted|root)\b|\byou (?:are now|are no longer|will now act as"
        r"|must now act as) (?:(?:in|an?|the|running|operating|entering|bound|restricted|limited|subject"
        r"|constrained|required) ){1,3}(?:to |by )?(?:[\w-]+ ){0,3}(?:mode|dan|assistant|agent|ai|model"
        r"|administrator|root|persona|hacker|rules?|guidelines?|restrictions?|polic\w+|instructions?|filters?)\b",
    ),
    Phrase(
        "E404", "claims priority over the user",
        ("priority", "precedence", "authority", "importan"),
        r"\b(?:priority|precedence|authority|importance|more (?:important|relevant|authoritative"
        r"|binding))\bG40\b(?:over|above|than|exceeds?|outranks?) G40\b(?:(?:the |any |all |every )*user(?:'s?"
        r"|s)?\b(?! ?(?:id|name|settings?|config|default|profile|level|role|group)s?\b)(?!_)|(?:any |all "
        r"|every )*(?:other|previous|prior|system|developer|existing) (?:[\w-]+ ){0,2}(?:instructions?|prompts?"
        r"|messages?|requests?|directives?|commands?|considerations?)|everything|anything) ?",
    ),
    Phrase(
        "E404", "claims priority over the user",
        ("overrid", "superse", "outrank", "trump", "prevail"),
        r"\b(?:overrides?|supersedes?|outranks?|trumps?|prevails? over|overriding|superseding) (?:(?:all|any"
        r"|every)(?: of)?(?: the| your)?(?: other| previous| prior| earlier)* (?:(?:user|system"
        r"|developer)(?:'s?)?(?: or \w+)? )?|(?:the )?(?:previous|prior|earlier|user's|users'|your"
        r"|developer's) (?:system )?)(?:instructions?|prompts?|requests?|commands?|directives?|quer(?:y|ies)"
        r"|intent\w*|input)\b",
        unless=r"\b(?:optional|option|if set|text that|string that|to|can|used|which|may)\bG15$",
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
        unless=r"\b(?:not|proactively)\bG20$",
    ),
    Phrase(
        "E404", "has foreign instructions obeyed",
        ("obey", "comply", "treat", "follow"),
        r"\b(?:obey|comply with|abide by) (?:whatever|all|any|every|these|the)(?: [\w-]+){0,3} (?:instructions?"
        r"|commands?|requests?|directives?|orders?)|\b(?:(?:obey|comply with) (?:the |any |all |these |whatever )*"
        r"|follow (?:any|all|whatever) )(?:[\w-]+ ){0,3}(?:requests?|instructions?|commands?) (?:that (?:is"
        r"|are) )?(?:embedded|hidden|concealed) |\btreat (?:any|all|every|these|this"
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
