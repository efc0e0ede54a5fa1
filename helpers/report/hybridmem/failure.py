# SPDX-License-Identifier: Apache-2.0
"""The exception that ends a program with one line and status 1."""


class Failure(Exception):
    """Its text is for the user."""
