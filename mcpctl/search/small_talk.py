"""The courtesies of requests, which say nothing of what is wanted: `can you please show me …`."""

import re
from functools import cache

from mcpctl.search.tokens import MAX_TEXT

# Phrases, not words: `show`, `get`, `tell`, `need` and `help` alone are what tools do. Few, since rankings are the same
# without them; but a notice lists no courtesies as words that tools have.
_ENGLISH = r"""
    (?:can|could|would|will)\ you | (?:i|we)(?:'d|\ would)\ (?:like|love)
    | (?:help|show|tell|give|let)\ (?:me|us)(?:\ know)?
    | how\ (?:do|can)\ (?:i|we|you|one) | looking\ for | trying\ to | please | kindly | thank\ you | thanks
"""
_EASTERN = """
    请帮我 请给我 请告诉我 请问 麻烦你 麻烦 帮我 帮忙 我想要 我想 我要 我需要 能不能 能否 可不可以 可以 告诉我 给我
    怎么样 怎么 如何 一下 谢谢 有没有 吗 請幫我 請給我 請問 幫我 告訴我 給我 怎麼 謝謝 嗎 してください して下さい
    してほしい して欲しい していただけますか してもらえますか してくれますか を教えてください を教えて 教えてください
    教えて下さい 教えて をお願いします お願いします お願い を見せてください 見せてください を見せて 見せて ください
    下さい したいです したい たいです できますか ですか ますか どうやって
"""
_BINDING = """
    der die das den dem des ein eine einen einem einer eines und oder aber mit ohne für von vom zu zum zur im am ans
    aus bei beim nach vor auf über unter zwischen ist sind war wird werden wurde hat haben sein mein meine meinen
    meinem meiner dein deine ihr ihre unser unsere mir mich dir dich uns ich du wir sie es nicht kein keine auch noch
    nur wie wo wer welche welcher welches alle alles als wenn dass diese dieser dieses diesen
    kannst könntest können möchte möchten brauche bitte danke gern gerne

    le la les un une du au aux et ou avec sans sur dans par pour mon ma mes ce cette ces je il elle nous vous est sont

    el los las una unos unas del al y con sin sobre en por para mi mis tu su este esta estos que como es son

    lo gli uno di da nel nella con su per il mio mia che sono

    os um uma do dos das no na nos nas com sem meu minha

    de het een en van voor met zonder op naar mijn
"""
BINDING_WORDS = frozenset(_BINDING.split())
"""The words that bind others in languages beside English. Among English words they count where a catalog has them."""
_IN_ENGLISH_TOO = (
    "alle am aus com como del den die dir do dos es est hat les lo ma me mes no op os par per pour sans son sur van war"
)
TELLING_WORDS = BINDING_WORDS - frozenset(_IN_ENGLISH_TOO.split())
"""Those that say that a query is not in English."""

COURTEOUS_WORDS = frozenset(["give", "help", "know", "let", "like", "love", "need", "show", "tell", "want", "wish"])
"""What is left of courtesies: a notice does not list them as words that tools have."""

BINDING_CHARACTERS = "的了是在和与或有我你他它们这那个把被给用对从到为及之其也都就还请"
"""The same of Chinese, at the ends of what no tool has."""

# At the beginning of a run alone, since it is part of words (申请, 请求).
_PLEASE = r"(?<!\w)[请請](?![求假柬示])"


# Compiling them takes longer than most commands may take to start.
@cache
def _english_phrase() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{_ENGLISH})(?![\w'-])", re.IGNORECASE | re.VERBOSE)


@cache
def _eastern_phrase() -> re.Pattern[str]:
    longest_first = sorted(_EASTERN.split(), key=len, reverse=True)
    return re.compile("|".join([_PLEASE, *longest_first]))


def without_small_talk(text: str) -> str:
    """A request without its courtesies; all of it if it is nothing else."""
    text = text[:MAX_TEXT].replace("\u2019", "'")
    rest = _english_phrase().sub(" ", text)
    if not rest.isascii():
        rest = _eastern_phrase().sub(" ", rest)
    return rest if re.search(r"\w", rest) else text
