"""Make the table of word vectors that search ships with.

It reads public texts (recipe.py), has a sentence model embed them (half an hour on two cores; --cache keeps the
vectors, so that the next time takes minutes), and trains vectors of words whose sums point where the model's
vectors of texts do; then it adds words of more languages, taught by what they translate (adding.py). It needs the
extra `words`, 3 GB of memory and, for what is not in --inputs, pip, npm and the
network.

The same inputs give the same table on the same machine; on another processor the last digits of the model's vectors
may differ, and a few numbers of the table with them.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcpctl.search.meaning import FOLDER
from tests.words.adding import add
from tests.words.inputs import Input, WrongInput
from tests.words.making import make
from tests.words.recipe import SOURCES, TEACHER, TLDR, TRANSLATIONS, Recipe, Source
from tests.words.teacher import Teacher


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a table and write it; 1 if an input is not what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=Path, metavar="DIR", required=True, help="where packages are, or are put")
    parser.add_argument("--tldr", type=Path, metavar="FILE", help=f"{TLDR.file}, if it is not among the inputs")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="the model's vectors (default: INPUTS/vectors)")
    parser.add_argument("--output", type=Path, metavar="DIR", default=FOLDER, help="the table (default: %(default)s)")
    parser.add_argument("--dimensions", type=int, default=Recipe.dimensions, help="of a vector (default: %(default)s)")
    parser.add_argument("--base", type=Path, metavar="DIR", help="a table made before, to which words are only added")
    names = [source.name for source in SOURCES]
    parser.add_argument("--sources", nargs="+", choices=names, default=names, help="only these, to try something out")
    options = parser.parse_args(arguments)
    chosen = [source for source in SOURCES if source.name in options.sources]
    cache = options.cache or options.inputs / "vectors"
    recipe = replace(Recipe(), dimensions=options.dimensions)
    options.inputs.mkdir(parents=True, exist_ok=True)
    try:
        if options.base is None:
            paths = {TEACHER: TEACHER.fetched(options.inputs)} | found(chosen, options.inputs, options.tldr)
        translations = found(TRANSLATIONS, options.inputs, options.tldr)
        if options.base is None:
            make(chosen, paths, Teacher(paths[TEACHER]), recipe, cache / TEACHER.sha256[:12], cache / "base")
        add(options.base or cache / "base", TRANSLATIONS, translations, recipe, options.output)
    except WrongInput as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def found(chosen: Sequence[Source], folder: Path, tldr: Path | None) -> dict[Input, Path]:
    """Where what the sources read is.

    Raises:
        WrongInput: One cannot be had, or it is another file.
    """
    inputs = (each for source in chosen for each in source.inputs)
    return {each: TLDR.checked(tldr) if each == TLDR and tldr else each.fetched(folder) for each in inputs}


if __name__ == "__main__":
    sys.exit(main())
