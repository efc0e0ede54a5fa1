# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of installed commands."""

import pytest


@pytest.fixture
def configure(tmp_path):
    """Write a configuration where root believes it: only its owner may write it."""

    def write(text):
        path = tmp_path / "hybridmem.conf"
        path.write_bytes(text.encode("latin-1"))
        path.chmod(0o644)
        return path

    return write
