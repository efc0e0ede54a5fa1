# SPDX-License-Identifier: Apache-2.0
"""Tests the names of nodes: their short form, their order, and what may be one."""

import sys

import pytest
from installed import DATA

sys.path.insert(0, str(DATA / "python"))
from hybridmem import nodenames


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n3", "n1", "n2"], "n[1-3]"),
        (["n001", "n002", "n010"], "n[001-002,010]"),
        (["n9", "n10"], "n9,n10"),
        (["login", "n1", "n2"], "login,n[1-2]"),
        (["a-1-1", "a-1-2", "a-2-1"], "a-1-[1-2],a-2-1"),
        (["0", "1"], "[0-1]"),
    ],
)
def test_names_in_short(names, text):
    assert nodenames.fold(names) == text


def test_names_in_order():
    assert nodenames.in_order(["n10", "n9", "b", "n9a", "9", "n1-2", "n1-10"]) == [
        *("9", "b", "n1-2", "n1-10", "n9", "n9a", "n10"),
    ]


@pytest.mark.parametrize("name", ["", "../x", ".", "..", ".hidden", "a/b", "a b", "a\n", "-n1", "a" * 65, "é"])
def test_what_is_no_name_of_a_node(name):
    assert not nodenames.NAME.fullmatch(name)
