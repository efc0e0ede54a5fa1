# SPDX-License-Identifier: Apache-2.0
"""The fenced blocks of the guides, as tests run them.

A comment before a block says what the tests do with it:

    <!-- run: host, node.xml = FIXTURE.xml, status 3 -->   bash runs the commands of this console block in a folder that
                                                           has the fixture FIXTURE.xml as node.xml
    <!-- run: guest as alice, status 1 -->                 the commands run in the guest, as alice
    <!-- file: NAME -->                                    the block is a file for the commands of later blocks

The last command of a block ends with the status, or with 0 where none is named. A line of a console block that starts
with "$ " or "# " is a command, and the lines after it are its output. In the output, "..." stands for any text, and
several spaces are the same as one.
"""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

GUIDES = Path(__file__).resolve().parents[2] / "site-docs"
LANGUAGES = {"console", "bash", "c", "conf", "lua", "text"}
_BLOCK = re.compile(r"(?:^<!-- (run|file): ([^\n]*?) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    guide: str
    line: int
    language: str
    kind: str  # "run", "file", or ""
    words: list
    text: str

    def name(self):
        return f"{self.guide}:{self.line}"


def blocks(guide):
    """All fenced blocks of a guide, in order."""
    text = (GUIDES / guide).read_text()
    return [
        Block(
            guide,
            text[: found.start(3)].count("\n") + 1,
            found[3],
            found[1] or "",
            re.split(r",\s*", found[2]) if found[2] else [],
            found[4],
        )
        for found in _BLOCK.finditer(text)
    ]


def runs(where):
    """Yields (block, files): the console blocks that run on "host" or "guest", each with the files shown before it."""
    for guide in sorted(path.name for path in GUIDES.glob("*.md")):
        files = {}
        for block in blocks(guide):
            if block.kind == "file":
                files[block.words[0]] = block.text
            elif block.kind == "run" and block.words[0].split()[0] == where:
                yield block, dict(files)


def commands(text):
    """(command, expected output) pairs of a console block."""
    found = []
    for line in text.splitlines():
        if line[:2] in ("$ ", "# "):
            found.append([line[2:], []])
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


def squeeze(text):
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def matches(expected, output):
    pattern = ".*?".join(re.escape(part) for part in squeeze(expected).split("..."))
    return re.fullmatch(pattern, squeeze(output), re.DOTALL) is not None


class Shell:
    """A shell for one block, so that commands see what earlier ones set. Both output streams are one."""

    def __init__(self, argv, folder, env=None):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
        )
        self.run(f"cd {folder}")

    def run(self, command):
        """Runs a command. Returns its output and exit status."""
        self.process.stdin.write(f"{{ {command}\n}} < /dev/null\nprintf '\\n@@@%d@@@\\n' $?\n")
        self.process.stdin.flush()
        output = ""
        for line in self.process.stdout:
            end = re.fullmatch(r"@@@(\d+)@@@\n", line)
            if end:
                return output, int(end[1])
            output += line
        raise AssertionError(f"the shell ended in {command!r}:\n{output}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def play(block, shell, repeat=lambda run, command: run(command)):
    """Runs a block's commands in the shell and checks their outputs. The job id 1234 stands for that of the last job
    submitted. `repeat` may run a command again if its result needs time."""
    wanted = next((int(word.split()[1]) for word in block.words if word.startswith("status ")), 0)
    job, pairs = "1234", commands(block.text)
    assert pairs, f"{block.name()}: no command"
    for command, expected in pairs:
        output, status = repeat(shell.run, re.sub(r"\b1234\b", job, command))
        job = (re.findall(r"Submitted batch job (\d+)", output) or [job])[-1]
        output = re.sub(rf"\b{job}\b", "1234", output)
        end = wanted if command == pairs[-1][0] else 0
        assert status == end, f"{block.name()}: {command!r} gave {status}, not {end}:\n{output}"
        assert matches(expected, output), f"{block.name()}: {command!r} printed\n{output}\nnot\n{expected}"
