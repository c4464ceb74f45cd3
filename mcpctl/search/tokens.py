"""Words of names and of prose, split in the same way for tools and for queries."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

MAX_TEXT = 10_000  # the most characters of a text that are read: real descriptions are shorter
MAX_RUN = 64  # the most characters of one run of letters and digits, which may be a base64 image
LAYOUT = 5  # the version of how texts become words: an index on disk that was made by another is made again

NOT_STOPPED = {"all", "after", "before", "between", "do", "down", "off", "on", "out", "over", "up"}
"""Stop words that tell sibling tools apart, such as `turn_on` and `turn_off`."""

# Snowball's English list, with contractions in the pieces into which the tokenizer splits them.
_SNOWBALL = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing would should could ought a an the and but if or because as until while
    of at by for with about against between into through during before after above below to from up down in out on off
    over under again further then once here there when where why how all any both each few more most other some such no
    nor not only own same so than too very ll re ve don isn aren wasn weren hasn haven hadn doesn didn won wouldn shan
    shouldn couldn mustn let cannot can will please
"""
STOP_WORDS = frozenset(_SNOWBALL.split()) - NOT_STOPPED

_BINDING = """
    der die das den dem des ein eine einen einem einer eines und oder aber mit ohne für von vom zu zum zur im am ans
    aus bei beim nach vor auf über unter zwischen ist sind war wird werden wurde hat haben sein mein meine meinen
    meinem meiner dein deine ihr ihre unser unsere mir mich dir dich uns ich du wir sie es nicht kein keine auch noch
    nur wie wo wer welche welcher welches alle alles als wenn dass diese dieser dieses diesen
    kannst könntest können möchte möchten brauche bitte danke gern gerne

    le la les un une du au aux et ou avec sans sur dans par pour mon ma mes ce cette ces je il elle nous vous est sont
    à ça où tout toute tous toutes quel quelle quels quelles quand qui que quoi ici leur leurs notre votre jusqu

    el los las una unos unas del al y con sin sobre en por para mi mis tu su este esta estos que como es son ver
    qué cómo cuál cuándo cuánto cuánta cuántos cuántas dónde quién cuando donde esa ese esos esas aquí ahora hace muy
    más también cada desde hasta nuestro nuestra sus lo

    lo gli uno di da nel nella con su per il mio mia che sono della dei delle dal dalla alla sul sulla è

    os um uma do dos das no na nos nas com sem meu minha pelo pela seu sua são não ao aos é

    de het een en van voor met zonder op naar mijn
"""
BINDING_WORDS = frozenset(_BINDING.split())
"""The words that bind others in languages beside English. Among English words they count where a catalog has them."""
_IN_ENGLISH_TOO = (
    "alle am aus com como dal dei del den die dir do dos es est hat les lo ma me mes no op os par per pour sans son sua"
    " sul sur sus van ver war"
)
TELLING_WORDS = BINDING_WORDS - frozenset(_IN_ENGLISH_TOO.split())
BESIDE_TELLING = frozenset(("con", "del", "les", "pour", "ver"))
"""Those in English too that tell most of another language: inside a query, `del` is seldom short for delete."""

_COURTEOUS = "give help kindly know let like looking love need show tell thank thanks trying want wish"
COURTEOUS_WORDS = frozenset(_COURTEOUS.split())  # the rest of `could you please show me`: no notice lists these words

BINDING_CHARACTERS = "的了是在和与或有我你他它们这那个把被给用对从到为及之其也都就还请"
"""The binding words of Chinese, at the ends of a text that no tool has."""

_CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # noqa: E501
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = rf"[{_CJK}]"
# The letters at the end of what's, I'm, isn't, I'd, and at the beginning of l'ordre, d'un, qu'il.
_CUT_OFF = re.compile(
    r"(?<=[^\W\d_])['\u2019][smtd](?![^\W_])|(?<![^\W_])(?:[cdjlmnst]|qu)['\u2019](?=[^\W\d_])", re.IGNORECASE
)
# Sorting long runs of combining marks is what makes NFKC quadratic; 30 is the limit of UAX #15's stream-safe format.
_LONG_MARKS = re.compile(r"([^\w\s]{30})[^\w\s]+")

# Hiragana that bind and inflect words, and the Chinese particle that binds two; no word of a catalog is made of them.
_PARTICLE_LIST = """
    の を に は が で と も へ や か から まで より では には とは での への ため など について による により として
    する した して します しました しない され される された できる できます こと もの です ます ました ません たい
    したい ている ています いる ある あり なる この その どの ください ほしい てください だ な な的 る て い し
"""
_PARTICLES = frozenset(_PARTICLE_LIST.split())
_LONGEST_PARTICLE, _LONGEST_ENDING = max(map(len, _PARTICLES)), 12
_STRETCH = re.compile("[\u3041-\u3096]+|(?<!\u76ee)\u7684|(?:[^\u3041-\u3096\u7684]|(?<=\u76ee)\u7684)+")

# Matches the shape of a run (A upper case, s or a other letters, 0 digits): short names with a number (S3, mp3) or
# with one between letters (k8s, i18n, e2e), which stay whole, then plural acronyms (URLs), acronyms, words, numbers.
_PARTS = re.compile(
    r"[Aas]{1,3}0+(?:[as](?![as])|A(?![Aas]))0*|[Aas]{1,2}0+(?![as])|AA+s(?![as])|A+(?![as])|A?[as]+|0+"
)


def tokens(text: str) -> list[str]:
    """The stems of a text's words, in order and with repetitions."""
    return [stem(word) for forms in words(text) for word in forms]


def words(text: str) -> Iterator[tuple[str, ...]]:
    """Each word in its lower-case forms: parts of an identifier, then all of it (`get`, `weather`, `getweather`)."""
    for run in runs(text):
        if is_cjk(run):
            yield from ((pair,) for segment in segments(run) for pair in pairs(segment))
        elif forms := parts(run):
            yield forms


def meaning_words(text: str) -> Iterator[str]:
    """The stems of `tokens`, and of Chinese and Japanese each character, too: a table may lack a pair."""
    for run in runs(text):
        if is_cjk(run):
            for segment in segments(run):
                yield from meanings(segment)
        else:
            yield from map(stem, parts(run))


def meanings(segment: str) -> Iterator[str]:
    """The pairs and the single characters of a segment of CJK, without lone hiragana, which mean nothing."""
    yield from pairs(segment)
    if len(segment) > 1:
        yield from (char for char in segment if not "\u3041" <= char <= "\u3096")


def runs(text: str) -> list[str]:
    """The runs of letters and digits of a text, those of CJK apart from others, without what is left of `what's`."""
    normal = _normal(text)
    return _RUN.findall(_CUT_OFF.sub(" ", normal) if "'" in normal or "\u2019" in normal else normal)


def is_cjk(run: str) -> bool:
    """Whether a run, or a word of one, is of Chinese, Japanese or Korean characters."""
    return not run.isascii() and bool(re.match(_IS_CJK, run))


def segments(run: str) -> Iterator[str]:
    """A run of CJK without the particles between its words: of `天気を調べて`, `天気` and `調べ`."""
    segment = ""
    for stretch in _STRETCH.findall(run):
        kept = _unbound(stretch)
        segment += kept
        if kept != stretch and segment:
            yield segment
            segment = ""
    if segment:
        yield segment


def pairs(segment: str) -> list[str]:
    return [segment[i : i + 2] for i in range(max(len(segment) - 1, 1))]


@lru_cache(maxsize=16_384)
def _unbound(stretch: str) -> str:
    if stretch == "\u7684":
        return ""
    if not "\u3041" <= stretch[0] <= "\u3096":
        return stretch
    starts = range(max(0, len(stretch) - _LONGEST_ENDING), len(stretch))
    return stretch[: next((start for start in starts if _binds(stretch[start:])), len(stretch))]


def _binds(text: str) -> bool:
    while text:
        size = next((n for n in range(_LONGEST_PARTICLE, 0, -1) if text[:n] in _PARTICLES), 0)
        if not size:
            return False
        text = text[size:]
    return True


_MAY_END = re.compile("[.?!;\u3002\uff01\uff1f\uff1b\n]")
_SENTENCE = re.compile("(?<![.?!;])[.?!;]+\\s+|[\u3002\uff01\uff1f\uff1b\n]+")
"""The end of a sentence, in European and in East Asian scripts. A long row of dots is scanned only once."""
_SEPARATORS = re.compile(r"[\W_]+")
_MIN_WORDS = 2


def sentences(text: str, most: int) -> list[str]:
    """The first sentences of a text with at least two words each, stop words not counted; none if it is one alone."""
    if not _MAY_END.search(text):
        return []
    parts = _SENTENCE.split(text[:MAX_TEXT])
    full = [part for part in parts if len(list(islice(words(part), _MIN_WORDS))) == _MIN_WORDS]
    return full[:most] if len(full) > 1 else []


def folded(name: str) -> str:
    """A name without case and separators: `Create-Issue` is `create_issue`. One of separators alone stays."""
    return _SEPARATORS.sub("", _normal(name).casefold()) or name


def _normal(text: str) -> str:
    text = text[:MAX_TEXT]
    return text if text.isascii() else unicodedata.normalize("NFKC", _LONG_MARKS.sub(r"\1", text))[:MAX_TEXT]


def parts(run: str) -> tuple[str, ...]:
    """A run that is not of CJK in its lower-case forms: the parts of an identifier, then all of it."""
    return _forms(run[:MAX_RUN])


@lru_cache(maxsize=16_384)
def _forms(run: str) -> tuple[str, ...]:
    shapes = [] if run.isalpha() and (run.islower() or run.istitle()) else _PARTS.findall(_shape(run))
    forms = []
    start = 0
    if len(shapes) > 1:
        for shape in shapes:
            # A digit at the end (oauth2, utf8, ipv4) says nothing by itself; more digits may be a number (base64).
            if shape != "0" or start + 1 < len(run):
                forms.append(run[start : start + len(shape)].lower())
            start += len(shape)
    forms.append(run.lower())
    return tuple(form for form in forms if form not in STOP_WORDS)


def _shape(run: str) -> str:
    return "".join(
        "A" if char.isupper() else "0" if not char.isalpha() else "s" if char == "s" else "a" for char in run
    )


_ACCENTS = dict.fromkeys(map(ord, "\u0300\u0301\u0302\u0303\u0327"))
"""The accents of Romance languages, which many leave out; an umlaut makes another word."""


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without accents and its plural, -ing or -ed ending: `queries`, `creating` and `created` are `query`,
    `creat`; `días` is `dia`."""
    if not word.isascii() and word[0] < "\u0250":
        word = unicodedata.normalize("NFC", unicodedata.normalize("NFD", word).translate(_ACCENTS))
    if len(word) < 3 or not word.isascii() or word == "news":
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-2] if word.endswith("xes") else word[:-1]
    base = word.removesuffix("ing") if word.endswith("ing") else word.removesuffix("ed")
    if base != word and len(base) > 2 and re.search("[aeiouy]", base) and not word.endswith("eed"):
        word = _restored(base)
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _restored(base: str) -> str:
    """The word before -ing or -ed was added: `mapp` was map, `cod` was code (Porter 1980, step 1b)."""
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if re.fullmatch("[^aeiou][aeiouy][^aeiouwxy]", base) else base


def sendable(text: str) -> str:
    """The beginning of a text, as much as a search reads, with `?` for halves of characters."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()
