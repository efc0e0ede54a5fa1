# SPDX-License-Identifier: Apache-2.0
"""What the testbed's commands share: messages, failures, and cleaning up at the end."""

import signal
import subprocess
import sys
from pathlib import Path

EXIT_TESTBED = 125  # the testbed itself failed, not the script that it ran in the guest


class Failure(Exception):
    """The command cannot be carried out. The text is for the user, the status for the shell."""

    def __init__(self, text, status=EXIT_TESTBED):
        super().__init__(text)
        self.status = status


def say(text):
    """Print a message on standard error; standard output is for what the script in the guest prints."""
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def _leave(number, _):
    raise SystemExit(128 + number)


def run(main):
    """Run MAIN as the whole process. It cleans up however it ends, and a failure is one clear line."""
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
