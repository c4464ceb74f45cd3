"""The courtesies of requests, which say nothing of what is wanted: `can you please show me …`."""

import re
from collections.abc import Iterable
from functools import cache

from mcpctl.search.tokens import MAX_TEXT

# Phrases, not words: `show`, `get`, `tell`, `need` and `help` alone are what tools do. Stop words around them are none
# of the query's words anyway.
_WESTERN = """
    can you, can we, can i, could you, would you, will you, help me, help us, show me, show us, tell me, tell us,
    give me, give us, let me know, let us know, please, kindly, i need, we need, i want, we want, i wish, i would like,
    we would like, i would love, i'd like, we'd like, i'd love, i have to, we have to, i am looking for,
    i'm looking for, we're looking for, i am trying to, i'm trying to, is there a tool, is there any tool,
    is there a way, is there any way, are there any tools, do you have a tool, a tool to, a tool for, a tool that can,
    a tool that, a tool which, the tool to, the tool for, the tool that, tool to, tools to, tool that can, tool that,
    a way to, how do i, how do we, how do you, how can i, how can we, how can one, how to, it would be great,
    it would be nice, it would be helpful, would you mind, do you know, if you can, thank you very much,
    thank you so much, thank you, thanks in advance, thanks a lot, thanks,

    kannst du, könntest du, können sie, könnten sie, würdest du, würden sie, zeig mir, zeige mir, zeig uns,
    zeigen sie mir, gib mir, gib uns, geben sie mir, sag mir, sagen sie mir, hilf mir, helfen sie mir, ich möchte,
    wir möchten, ich will, wir wollen, ich brauche, wir brauchen, ich muss, wir müssen, ich würde gerne,
    ich würde gern, ich hätte gern, ich hätte gerne, ich suche nach, ich suche, gibt es ein tool,
    gibt es eine möglichkeit, wie kann ich, wie kann man, wie mache ich, vielen dank, danke, bitte
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

    le la les un une du au aux et ou avec sans sur dans par pour mon ma mes ce cette ces je il elle nous vous est sont

    el los las una unos unas del al y con sin sobre en por para mi mis tu su este esta estos que como es son

    lo gli uno di da nel nella con su per il mio mia che sono

    os um uma do dos das no na nos nas com sem meu minha

    de het een en van voor met zonder op naar mijn
"""
BINDING_WORDS = frozenset(_BINDING.split())
"""The words that bind others in languages beside English: they count only where a catalog has them."""

VAGUE_WORDS = frozenset(
    ["show", "make", "look", "see", "tell", "give", "put", "take", "use", "using", "want", "need", "let", "try", "new"]
)
"""Words that are said of anything: "show folder contents" asks for what folders have rather than for what shows."""

BINDING_CHARACTERS = "的了是在和与或有我你他它们这那个把被给用对从到为及之其也都就还请"
"""The same of Chinese, at the ends of what no tool has."""

# At the beginning of a run alone, since it is part of words (申请, 请求).
_PLEASE = r"(?<!\w)[请請](?![求假柬示])"


def _any_of(phrases: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(phrases, key=len, reverse=True)))


_PHRASES = [" ".join(phrase.split()) for phrase in _WESTERN.split(",")]
_FIRST_WORDS = frozenset(phrase.split()[0] for phrase in _PHRASES)


# Compiling them takes longer than most commands may take to start.
@cache
def _western_phrase() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{_any_of(_PHRASES)})(?![\w'-])", re.IGNORECASE)


@cache
def _eastern_phrase() -> re.Pattern[str]:
    return re.compile(f"{_PLEASE}|{_any_of(_EASTERN.split())}")


def without_small_talk(text: str) -> str:
    """A request without its courtesies; all of it if it is nothing else."""
    rest = text = text[:MAX_TEXT].replace("\u2019", "'")
    # Looking for the phrases takes ten times as long as seeing that there is none.
    if not _FIRST_WORDS.isdisjoint(re.findall(r"[\w']+", text.lower())):
        rest = _western_phrase().sub(" ", " ".join(text.split()))
    if not rest.isascii():
        rest = _eastern_phrase().sub(" ", rest)
    return rest if rest is text or re.search(r"\w", rest) else text
