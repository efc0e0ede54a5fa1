# SPDX-License-Identifier: Apache-2.0
"""Programs of codes.py as they may have been when a profile was made that is stale now: with another problem, and so
with other memory and other accesses at the same sites."""

from functools import partial

import codes


def other(name, about, prepare):
    return codes.PROGRAM[name]._replace(about=about, prepare=prepare)


PROGRAM = {
    "lammps": other(
        "lammps",
        "LAMMPS, a crystal of 8,788 atoms of copper, by the embedded atom method",
        codes.copied("eam.in", "lj.in"),
    ),
    "hpcc": other("hpcc", "HPCC, with a matrix of 500 x 500", partial(codes.hpcc_prepare, rows=500)),
    "sqlite": other(
        "sqlite",
        "SQLite, 80 % of the queries on another tenth of the rows",
        partial(codes.sqlite_prepare, hot=codes.SQLITE_ROWS // 4, elsewhere=5),
    ),
    "elk": other("elk", "Elk, a crystal of copper", partial(codes.elk_prepare, atom="Cu", length="3.4")),
}
