# SPDX-License-Identifier: Apache-2.0
"""Runs Slurm's commands: finds them, and limits their time and the length of their output."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from .failure import Failure

FOLDERS = ["/usr/bin", "/usr/local/bin", "/opt/slurm/bin"]  # the folder that configure found is put before these
PATIENCE_S = 120
MOST_BYTES = 16 << 20  # of a command's output


class Failed(Failure):
    """A command could not be run or did not succeed. It may succeed later."""


def find(name, folder=None):
    """The command's path: in `folder` alone; without a folder in the usual ones and (not for root) in PATH."""
    paths = [] if os.geteuid() == 0 else [part for part in os.environ.get("PATH", "").split(":") if part]
    for place in [folder] if folder else [*FOLDERS, *paths]:
        path = Path(place, name)
        if os.access(path, os.X_OK):
            return str(path)
    raise Failed(f"{name} is not in {folder or 'its usual folders'}")


def environment(**more):
    """The environment of a Slurm command: the few variables that it needs."""
    kept = {name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ}
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **kept, **more}


def kill(process):
    """Kills the command with all that it has started, as some sites have scripts in the place of Slurm's commands: what
    these have started would keep the output open."""
    if process.returncode is None:  # it was not waited for, so its number is not another's
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def run(words, patience=PATIENCE_S, most=MOST_BYTES, **variables):
    """Returns the command's output. Raises Failed if it cannot be run, fails (with the first line of its errors, or
    else of its output), takes too long, or writes too much."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(**variables),
                start_new_session=True,
            )
        except OSError as error:
            raise Failed(f"cannot run {words[0]}: {error.strerror}") from error
        timer = threading.Timer(patience, kill, [process])
        timer.start()
        try:
            output = process.stdout.read(most + 1)
            if len(output) > most:
                kill(process)
        except BaseException:  # such as ^C, which does not reach another session
            kill(process)
            raise
        finally:
            process.stdout.close()
            status = process.wait()
            timer.cancel()
        if status != 0 or len(output) > most:
            raise Failed(f"{Path(words[0]).name} {why(status, output, most, errors)}")
        return output.decode("utf-8", "replace")


def why(status, output, most, errors):
    """The reason for a failure, in one line."""
    if len(output) > most:
        return f"says more than {most} bytes"
    errors.seek(0)
    said = (errors.read(1000) or output[:1000]).decode("utf-8", "replace").strip()
    ended = f"was ended by signal {-status}" if status < 0 else f"failed with status {status}"
    return f"{ended}: {said.splitlines()[0].strip()}" if said else ended
