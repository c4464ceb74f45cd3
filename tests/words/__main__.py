"""Make the table of word vectors that search ships with.

It reads public texts (recipe.py), has a sentence model embed them (15 minutes on two cores; --cache keeps the vectors,
so that the next time takes a few), and trains vectors of words whose sums point where the model's vectors of texts do.
It needs the extra `words`, 3 GB of memory and, for what is not in --inputs, pip, npm and the network.

The same inputs give the same table on the same machine; on another processor the last digits of the model's vectors
may differ, and a few numbers of the table with them.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mcpctl.search.word_table import FOLDER
from tests.words.inputs import WrongInput
from tests.words.making import Lessons, embedded, made, write
from tests.words.recipe import SOURCES, TEACHER, TLDR, Recipe, Source
from tests.words.teacher import Teacher


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a table and write it; 1 if an input is not what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=Path, metavar="DIR", required=True, help="where packages are, or are put")
    parser.add_argument("--tldr", type=Path, metavar="FILE", help=f"{TLDR.file}, if it is not among the inputs")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="the model's vectors (default: INPUTS/vectors)")
    parser.add_argument("--output", type=Path, metavar="DIR", default=FOLDER, help="the table (default: %(default)s)")
    parser.add_argument("--dimensions", type=int, default=Recipe.dimensions, help="of a vector (default: %(default)s)")
    names = [source.name for source in SOURCES]
    parser.add_argument("--sources", nargs="+", choices=names, default=names, help="only these, to try something out")
    options = parser.parse_args(arguments)
    recipe = replace(Recipe(), dimensions=options.dimensions)
    chosen = [source for source in SOURCES if source.name in options.sources]
    try:
        make(chosen, recipe, options.inputs, options.tldr, options.cache or options.inputs / "vectors", options.output)
    except WrongInput as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def make(chosen: Sequence[Source], recipe: Recipe, folder: Path, tldr: Path | None, cache: Path, output: Path) -> None:
    """A table from these sources.

    Raises:
        WrongInput: An input cannot be had, or it is another file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    inputs = list(dict.fromkeys([TEACHER, *(each for source in chosen for each in source.inputs)]))
    paths = {each: TLDR.checked(tldr) if each == TLDR and tldr else each.fetched(folder) for each in inputs}
    teacher = Teacher(paths[TEACHER])
    lessons = Lessons()
    vectors = []
    for source in chosen:
        texts = (text for each in source.inputs for text in source.read(paths[each]))
        new = lessons.add(texts, recipe.languages)
        vectors.append(embedded(new, teacher, cache / TEACHER.sha256[:12] / source.name))
    table, cosine = made(lessons, np.concatenate(vectors), recipe)
    told = {"sources": [source.name for source in chosen], "settings": recipe.settings(), "cosine": round(cosine, 3)}
    write(table, output, inputs, told)
    size = sum(path.stat().st_size for path in output.iterdir())
    print(f"{output}: {len(table)} words of {table.dimensions} numbers, cosine {cosine:.3f}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
