# SPDX-License-Identifier: Apache-2.0
"""Writes down what the tier meter, a QEMU plugin that counts the guest's accesses by node, should count. tests/meter
compares these claims with its counts, outside of the guest."""

import json
import os
from pathlib import Path

CLAIMS = Path("/tmp/claims.json")


def claim(name, what):
    """Writes down what the count between the marks NAME.start and NAME.end has to show."""
    claims = json.loads(CLAIMS.read_text()) if CLAIMS.exists() else {}
    CLAIMS.write_text(json.dumps(claims | {name: what}))
    os.sync()
