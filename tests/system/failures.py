# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest, also for tests/cluster: what failed is printed at once."""

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Prints a failure at once: if the stage runs out of time, the summary at the end is lost."""
    report = yield
    if report.failed:
        item.config.get_terminal_writer().line(f"\n{report.when} of {item.nodeid} failed:\n{report.longreprtext}")
    return report
