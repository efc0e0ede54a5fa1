# SPDX-License-Identifier: Apache-2.0
"""How programs react to ^C. They end by the signal itself, without a message, as a script that started them expects: at
once during the imports, when nothing is begun; later, after unfinished files were removed. If the caller ignores the
signal, as a shell does for background jobs, it stays ignored."""

import os
import signal


def at_once():
    """From here on ^C ends the program at once."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def as_exception():
    """From here on ^C raises KeyboardInterrupt, so that unfinished files are removed."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end():
    """Ends the program after a KeyboardInterrupt."""
    at_once()
    os.kill(os.getpid(), signal.SIGINT)
