"""The words that a written one may stand for: an abbreviation for those in full, a mistyped word for known ones."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache

from mcpctl.search.meaning import WordTable
from mcpctl.search.tokens import BINDING_WORDS, stem, tokens

MOST_READINGS = 4  # the most words that one is read as: several may be as likely, and then all are searched
SHORTEST, LONGEST = 5, 32  # the letters of words that may be mistyped: too many shorter ones are one letter from others
_SHORTEST_PART, _SHORTEST_OF_NAME = 4, 3  # the least letters of two joined words, in any query and in a short one
_COMMON = 20  # in how many texts the dictionary saw a word that may have been meant: a rarer one rather was not
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WITHOUT_UMLAUTS = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"), ("ss", "ß"))


class Speller:
    """Finds readings of a word that neither the catalog nor the dictionary has. All that one slip of the keyboard makes
    of a word is looked up in the catalog: 54 look-ups a letter, which take no longer the more words there are, and need
    no index."""

    def __init__(self, catalog: Mapping[str, float], dictionary: WordTable, names: Container[str]) -> None:
        self._catalog = catalog
        self._dictionary = dictionary
        self._names = names

    def readings(self, word: str, is_short: bool, is_name: bool) -> Sequence[str]:
        """The words that a word may have been meant to be; for words run together, a phrase. A query is short if it may
        be the mistyped name of a tool: then more is tried. The first letter of a word that is written as a name is
        right: Notion is not motion."""
        if len(word) > LONGEST or not word.isalpha():
            return []
        if not word.isascii():
            return self._compound(word)
        if len(word) >= SHORTEST - 1 and (readings := self._one_slip(word, is_name)):
            return readings
        if is_short and (readings := _halves(word, _SHORTEST_OF_NAME, self._catalog.__contains__)):
            return readings
        return self._compound(word) or ([] if is_name else self._in_dictionary(word))

    def named(self, words: Sequence[str], unknown: Container[str]) -> Mapping[str, str]:
        """The unknown word that was mistyped in the name of a tool, with the right one: `crate issue`, create."""
        for place, word in enumerate(words):
            if word in unknown and 2 < len(word) <= LONGEST and len(words) > 1:
                for slip in [*lost(word), *exchanged(word)]:
                    if slip in self._catalog and "".join([*words[:place], slip, *words[place + 1 :]]) in self._names:
                        return {word: slip}
        return {}

    def _one_slip(self, word: str, is_name: bool) -> list[str]:
        """The words of the catalog that are one slip from this, the likeliest first: letters are rather lost or swapped
        than just this one of 26 put in, and rather in a word that many tools have."""
        for slips in (lost, exchanged):
            found = self._in_catalog(word, slips)
            likely = sorted((slip for slip in found if slip[0] == word[0] or not is_name), key=found.__getitem__)
            if likely := [slip for slip in likely if len(slip) >= SHORTEST or sorted(slip) == sorted(word)]:
                forms: dict[str, str] = {}
                for slip in likely:
                    forms.setdefault(stem(slip), slip)
                return [self._whole(form) for form in list(forms.values())[:MOST_READINGS]]
        return []

    def _whole(self, slip: str) -> str:
        """The word of the catalog of which a slip leaves only the stem: `creat` is create."""
        return f"{slip}e" if slip not in self._catalog and f"{slip}e" in self._catalog else slip

    def _in_catalog(self, word: str, slips: Callable[[str], list[str]]) -> Mapping[str, float]:
        """The words of the catalog, or with the stem of one, that slips make of a word; each with its rarity."""
        catalog = self._catalog
        made = slips(word)
        terms = {slip: slip for slip in made if slip in catalog}
        terms |= {slip: f"{slip}~" for slip in made if f"{slip}~" in catalog}
        # The ending may have been mistyped, and no tool have the word in just this form.
        terms |= {slip: f"{stem(slip)}~" for slip in made if slip[-2:] != word[-2:]}
        base = stem(word)
        if base != word and word.startswith(base):
            stems = [slip for slip in slips(base) if f"{slip}~" in catalog]
            ending = word[len(base) :]
            if ending == "e":  # `month` is the stem of `monthe`, too, which is not a word
                stems = [slip for slip in stems if any(slip + other in catalog for other in ("es", "ed", "ing"))]
            terms |= {slip + ending: f"{slip}~" for slip in stems}
        return {slip: catalog[term] for slip, term in terms.items() if term in catalog}

    def _compound(self, word: str) -> list[str]:
        """The words of a compound such as Wettervorhersage; or a word written without its umlauts."""
        for plain, umlaut in _WITHOUT_UMLAUTS:
            if plain in word and self._is_heard(changed := word.replace(plain, umlaut)):
                return [changed]
        return _halves(word, _SHORTEST_PART, self._is_heard)

    def _in_dictionary(self, word: str) -> list[str]:
        """The word of the dictionary that is one slip from this: no tool has it, but one may have another for it."""
        base = stem(word)
        for slips in (lost, exchanged) if len(word) >= SHORTEST and word.startswith(base) else ():
            if common := self._dictionary.commonest(slips(base), _COMMON):
                return [common + word[len(base) :]]
        return []

    def _is_heard(self, word: str) -> bool:
        return stem(word) in self._dictionary and word not in BINDING_WORDS


def lost(word: str) -> list[str]:
    """The words of which this has lost a letter, or has swapped two."""
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    swapped = [before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1]
    return swapped + [before + letter + after for before, after in cuts for letter in _LETTERS]


def exchanged(word: str) -> list[str]:
    """The words of which this has a letter more, or another in the place of one."""
    cuts = [(word[:place], word[place + 1 :]) for place in range(len(word))]
    return [before + after for before, after in cuts] + [
        before + letter + after for before, after in cuts for letter in _LETTERS
    ]


def _halves(word: str, least: int, is_known: Callable[[str], bool]) -> list[str]:
    """Two known words that were run together, as a phrase; the shorter one is as long as can be."""
    cuts = [(word[:place], word[place:]) for place in range(least, len(word) - least + 1)]
    known = [cut for cut in cuts if all(map(is_known, cut))]
    return [" ".join(max(known, key=lambda cut: min(map(len, cut))))] if known else []


# Common abbreviations of the field. The meanings of one are separated by a bar. Left out are those that are words too
# (cat, net, sec, pub), those that nobody spells out (http, json, url), and plurals, which are read as their singular.
_ABBREVIATIONS = """
    k8s kubernetes; kube kubernetes; ns namespace; svc service; cm configmap; deploy deployment; sts statefulset;
    ds daemonset | datasource; rs replicaset; hpa horizontal pod autoscaler; pv persistent volume;
    pvc persistent volume claim; sa service account; crd custom resource definition; cr custom resource; cj cronjob;
    po pod; rbac role based access control; tf terraform; iac infrastructure as code; cfn cloudformation;
    ctr container; vol volume; lb load balancer; vm virtual machine; vpc virtual private cloud;
    vpn virtual private network; vnet virtual network; sg security group; acl access control list;
    az availability zone | azure; cdn content delivery network; asg auto scaling group; ami machine image;
    ecs container service; ecr container registry; ec2 instance; gcs cloud storage; rds relational database;
    iam identity access management; kms key management; gcp google cloud; aws amazon; bq bigquery; cw cloudwatch;
    infra infrastructure; prod production | product; stg staging; env environment; inst instance;

    gh github; gl gitlab; bb bitbucket; pr pull request; mr merge request; repo repository; vcs version control;
    scm source control; ci continuous integration | pipeline; cd continuous deployment; e2e end to end;
    qa quality assurance; dep dependency; dev development | developer; pkg package; npm node package; lib library;
    impl implementation; src source; bin binary; cli command line; cmd command; cwd working directory;
    pwd password | working directory; exec execute; proc process; pid process id; arg argument; param parameter;
    var variable; func function; fn function; obj object; attr attribute; prop property; val value; num number;
    str string; int integer; bool boolean; arr array; dict dictionary; idx index; elem element; async asynchronous;
    sync synchronize; init initialize; util utility; tmp temporary; diff difference; cfg configuration | config;
    conf configuration | config; config configuration; pref preference; ver version; rev revision;
    regex regular expression; regexp regular expression; sdk development kit; ide development environment;
    gui user interface; ui user interface; js javascript; ts typescript | timestamp; py python; rb ruby; wf workflow;
    wip work in progress; todo task;

    db database; tbl table; col column; pk primary key; fk foreign key; sp stored procedure; pg postgres | postgresql;
    psql postgres | postgresql; postgres postgresql; postgresql postgres; mongo mongodb; es elasticsearch;
    mssql sql server; tx transaction; txn transaction; etl extract transform load; dwh data warehouse; df dataframe;
    xls excel; xlsx excel; ppt powerpoint | presentation; pptx powerpoint | presentation; docx word document;
    md markdown; txt text; yml yaml; doc document; del delete; rm remove | delete; mv move; cp copy; ls list;
    mkdir create directory; upd update; cnt count; qty quantity; amt amount; avg average; std standard deviation;
    stdev standard deviation; pct percent; calc calculate; gen generate; eval evaluate; conv convert;
    approx approximate; stat statistic; agg aggregate; viz visualization; temp temperature | temporary; freq frequency;
    dist distance; eqn equation; rnd random; rand random; seq sequence; mat matrix; vec vector;

    usr user; grp group; org organization; acct account; admin administrator; perm permission; priv privilege;
    auth authentication | authorization; authn authentication; authz authorization; sso single sign on;
    mfa multi factor authentication; 2fa two factor authentication; otp one time password; pw password;
    passwd password; cred credential; cert certificate; sig signature; vuln vulnerability; pii personal data;
    uid user id; addr address; tel telephone; dob date of birth; cust customer; emp employee; mgr manager;
    dept department; mgmt management; hr human resources; crm customer relationship management;
    erp enterprise resource planning; kb knowledge base; sla service level agreement; kpi performance indicator;
    inv invoice | inventory; desc description; descr description; spec specification; ref reference; req request;
    res response; resp response; err error; exc exception; warn warning; dbg debug; o11y observability;
    apm performance monitoring; hw hardware; sw software; os operating system; cpu processor; gpu graphics;
    mem memory | member; ram memory; fs file system; dir directory; perf performance; iface interface;
    nic network interface; dns domain name; fqdn domain name; conn connection; fw firewall; ws websocket;
    mq message queue; sub subscription; notif notification; evt event; sched schedule;

    msg message; dm direct message; sms text message; att attachment; cal calendar; appt appointment; mtg meeting;
    tz timezone | time zone; dt date; hrs hours; mins minutes; secs seconds; wk week; yr year; eta arrival;
    tmrw tomorrow; faq question; bday birthday; img image; pic picture | image; thumb thumbnail; vid video; yt youtube;
    ig instagram; fb facebook; tg telegram; hn hacker news; wp wordpress; wiki wikipedia; gdrive google drive;
    gcal google calendar; gmaps google maps; gsheets google sheets; gdocs google docs; vscode visual studio code;
    ocr text recognition; tts text to speech; stt speech to text; asr speech recognition; nlp natural language;
    ml machine learning; ai artificial intelligence; llm language model; kg knowledge graph;
    i18n internationalization | translation; l10n localization | translation; a11y accessibility; lang language;
    seo search engine optimization; ga google analytics; fx exchange rate; forex exchange rate; btc bitcoin;
    eth ethereum; mkt market; biz business; tech technology; wx weather; geo location; loc location; lat latitude;
    lon longitude; lng longitude; coord coordinate; nav navigation; poi point of interest | place; dest destination;
    info information; btn button; nb notebook; ipynb notebook; cms content management; hist history; prev previous;
    curr current | currency; misc miscellaneous; intl international; univ university; uni university; lic license;
    rec record; fav favorite; convo conversation; subj subject; tkt ticket; tix tickets;

    gha github actions; gcloud google cloud; ssh secure shell; sftp file transfer; srv server; svr server; ep endpoint;
    ctx context; tgt target; dst destination; len length; sz size; prio priority; sev severity; snap snapshot;
    bkp backup; bkup backup; mnt mount; bw bandwidth; ttl time to live; exp expiration | experiment; lbl label;
    cmt comment; chg change; trx transaction; bal balance; pmt payment; pymt payment; rcpt receipt; mbr member;
    chn channel; apt apartment | appointment; pax passenger; fcst forecast; precip precipitation; pop population;
    gov government; vocab vocabulary; crypto cryptocurrency; stk stock; pf portfolio; dup duplicate; dupe duplicate;
    ext extension; fmt format; kw keyword; lnk link; trans translate; tmpl template; tpl template; wkly weekly;
    xfer transfer;
"""


def long_forms(word: str) -> Sequence[str]:
    """The words or phrases that an abbreviation stands for, the likeliest first; empty for any other word."""
    return _long_forms().get(word) or (_long_forms().get(word[:-1], ()) if word.endswith("s") and len(word) > 2 else ())


def short_forms(stems: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The abbreviations of words and phrases of a text: where each begins in its stems, for how many, and it."""
    forms = _short_forms()
    for place, first in enumerate(stems):
        for phrase, short in forms.get(first, ()):
            if tuple(stems[place : place + len(phrase)]) == phrase:
                yield place, len(phrase), short


@cache
def _long_forms() -> Mapping[str, Sequence[str]]:
    meanings: dict[str, list[str]] = defaultdict(list)
    for entry in " ".join(_ABBREVIATIONS.split()).strip(";").split("; "):
        short, _, stands_for = entry.partition(" ")
        meanings[short] += stands_for.split(" | ")
    return meanings


@cache
def _short_forms() -> Mapping[str, Sequence[tuple[tuple[str, ...], str]]]:
    shorts: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for short, stands_for in _long_forms().items():
        for phrase in map(tuple, map(tokens, stands_for)):
            shorts[phrase[0]].append((phrase, short))
    return shorts
