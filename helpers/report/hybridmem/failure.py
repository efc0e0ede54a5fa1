# SPDX-License-Identifier: Apache-2.0
"""What ends a program with one line and status 1."""


class Failure(Exception):
    """The text is for the user."""
