# SPDX-License-Identifier: Apache-2.0
"""Runs our Python programs in children of this process, which has imported what they need. To start Python and import
DuckDB takes 0.3 s of CPU time, and the tests of the history start a thousand programs."""

import contextlib
import importlib
import os
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

from installed import DATA, LEAKS, LIBEXEC, PREFIX, helper

ENVIRONMENT = {"LC_ALL": "C.UTF-8", **LEAKS}


@cache
def loaded(name, engine):
    """The module of a program, with all that it imports, and DuckDB from its folder."""
    for folder in filter(None, (engine, str(DATA / "python"))):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    if engine:
        importlib.import_module("duckdb")
    return importlib.import_module(f"hybridmem.{name}")


def has_other_threads():
    """Has this process threads that Python does not know, such as those of an open DuckDB? A child would lack them."""
    return len(list(Path("/proc/self/task").iterdir())) > threading.active_count()


def begin(out, err):
    """Gives the child the streams and the environment of a new program."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in ((0, nothing), (1, out.fileno()), (2, err.fileno())):
        os.dup2(source, number)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    time.tzset()
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def child(function, out, err):
    """Calls the function, whose result is the exit status. Does not return."""
    status = 1
    try:
        begin(out, err)
        status = function() or 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def call(function):
    """Calls the function in a child. Returns its exit status and what it wrote to standard output and error."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            child(function, out, err)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return status, *texts


def run(name, *words, engine=None, status=0, **options):
    """As helper("hybridmem-NAME", ...). With `options`, or where a child would lack threads, helper() itself starts the
    program."""
    words = [*(("--engine", engine) if engine else ()), *map(str, words)]
    if options or has_other_threads():
        return helper(f"hybridmem-{name}", *words, status=status, **options)
    module = loaded(name, engine)
    from hybridmem import program

    def begin_as_script():  # as hybridmem-report.in does
        sys.argv = [str(LIBEXEC / f"hybridmem-{name}"), *words]
        paths = str(LIBEXEC / "hybridmem-config"), str(PREFIX / "lib" / "hybridmem" / "python")
        return program.run(f"hybridmem {name}", module.main, *paths)

    code, out, err = call(begin_as_script)
    assert code == status, f"hybridmem {name} {words} gave {code}:\n{out}{err}"
    return CompletedProcess(words, code, out, err)
