# SPDX-License-Identifier: Apache-2.0
"""^C ends a program without a word, by the signal itself, as a script that started it expects: at once while nothing is
begun, as during the imports, and else when what was begun is put away. Where the caller has it ignored, as a shell has
for what runs in the background, it stays so."""

import os
import signal


def at_once():
    """From here on the kernel ends the program."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def as_exception():
    """From here on it is a KeyboardInterrupt, on which files that are not whole go."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end():
    """What a KeyboardInterrupt comes to."""
    at_once()
    os.kill(os.getpid(), signal.SIGINT)
