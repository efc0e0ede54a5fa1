# SPDX-License-Identifier: Apache-2.0
"""Reads the settings of hybridmem.conf from the program that parses that file, with its checks and defaults."""

import re
import subprocess

from .failure import Failure

_LINE = re.compile(r'^(\w+) = "?([^"\n]*?)"?$', re.MULTILINE)


class Settings:
    """The values of the words outside sections, as texts. `instead` is appended to the error if a word is missing or
    the program cannot be run: what the user can do without the settings."""

    def __init__(self, words, program, instead=""):
        self.words, self.program, self.instead = words, program, instead

    def text(self, word):
        """The value of a word. Raises Failure if there is none: the program is of another version."""
        if word not in self.words:
            raise Failure(f"{self.program} show names no {word}{self.instead}")
        return self.words[word]

    def option(self, word):
        """The value of a word that may be missing."""
        return self.words.get(word, "")

    def seconds(self, word):
        return self._number(word, r"(\d{1,9})s")

    def number(self, word):
        return self._number(word, r"(\d{1,9})")

    def _number(self, word, form):
        found = re.fullmatch(form, self.text(word))
        if not found:
            raise Failure(f'{self.program} show has "{self.text(word)}" for {word}, which is not understood here')
        return int(found[1])


def read(program, config=None, instead=""):
    """Reads the settings of the file `config`, or of the usual one. Raises Failure."""
    try:
        words = [program, "show", *(["--config", config] if config else [])]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"cannot run {program}: {error.strerror}{instead}") from error
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix("hybridmem config: ")  # the caller puts its own name in front
        raise Failure(said or f"{program} show failed with status {done.returncode}")
    return Settings(dict(_LINE.findall(done.stdout)), program, instead)
