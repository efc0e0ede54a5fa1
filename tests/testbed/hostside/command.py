# SPDX-License-Identifier: Apache-2.0
"""What the commands of the testbed share: how they speak, how they fail, how they end."""

import signal
import subprocess
import sys
from pathlib import Path

EXIT_TESTBED = 125  # the testbed failed, not what it was to run


class Failure(Exception):
    """What was asked for cannot be done; the text is for the user, the status for the shell."""

    def __init__(self, text, status=EXIT_TESTBED):
        super().__init__(text)
        self.status = status


def say(text):
    """A message for people: standard output belongs to what was asked for."""
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def _leave(number, _):
    raise SystemExit(128 + number)


def run(main):
    """Run MAIN to the end of the process; whatever ends it, it cleans up, and a failure is one clear line."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        sys.exit(main())
    except Failure as failure:
        say(failure)
        sys.exit(failure.status)
    except subprocess.CalledProcessError as failure:
        say(f"status {failure.returncode} from: {' '.join(map(str, failure.cmd))}")
    except OSError as failure:
        say(failure)
    sys.exit(EXIT_TESTBED)
