# SPDX-License-Identifier: Apache-2.0
"""Real programs for tests/system/tiering.py, each a row of PROGRAM: how its ranks are started, how far they are, and
what they have found.

A program's ranks are independent of each other, so that no rank waits for the slowest one."""

import gzip
import hashlib
import random
import re
from pathlib import Path
from typing import NamedTuple

import migration

PROGRAMS = Path(__file__).parent / "programs" / "codes"


class Program(NamedTuple):
    """A program of migration.RANKS independent ranks. Its progress is counted in the program's own units (steps,
    batches)."""

    name: str  # its name in /proc
    about: str
    footprint_mib: int  # anonymous memory of all ranks in the steady part; ROOM percent of it fit into the fast tier
    warm: int  # units of the slowest rank before the measured part
    stop: int  # units of the slowest rank at the end of the measured part, when the run is cancelled
    units: int  # units that each rank is told to do: so many that no rank ends before the measured part does
    prepare: object  # (folder, units): writes the input
    load: str  # reads the program's files
    command: str  # of a rank
    progress: object  # (folder, rank): units that it has done
    result: object  # (folder, rank): its text at `stop`, which must not depend on who moves pages


def read_files(program):
    """A command that reads the program and its libraries."""
    return f"bash -c 'cat /usr/bin/{program} $(ldd /usr/bin/{program} | grep -o \"/[^ ]*\")'"


def last_line(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return lines[-1] if lines else ""


LAMMPS_STOP = 70
SQLITE_STOP = 85
SQLITE_ROWS = 24000
SQLITE_LOOKUPS = 2000


def sqlite_prepare(folder, units, hot=SQLITE_ROWS // 2, elsewhere=20):
    """A table in memory. Batches look up and update rows. All but one of `elsewhere` are in the tenth of the table from
    the row `hot` on."""
    for rank in range(migration.RANKS):
        lines = [
            "pragma journal_mode = off;",
            "create table t(id integer primary key, n integer, v blob);",
            f"with recursive c(i) as (select 0 union all select i + 1 from c where i < {SQLITE_ROWS - 1})"
            " insert into t select i, 0, zeroblob(1000) from c;",
        ]
        for unit in range(1, units + 1):
            keys = (
                f"with recursive q(i, x) as (select 1, {unit * 7919 + rank * 104729} union all"
                f" select i + 1, (x * 1103515245 + 12345) & 2147483647 from q where i < {SQLITE_LOOKUPS}),"
                f" k(id) as (select case when (x >> 8) % {elsewhere} then {hot} + (x >> 12) % {SQLITE_ROWS // 10}"
                f" else (x >> 12) % {SQLITE_ROWS} end from q)"
            )
            lines.append(f"{keys} select sum(n + length(substr(v, 900, 10))) from t join k using (id);")
            lines.append(f"{keys} update t set n = n + 1 where id in (select id from k limit {SQLITE_LOOKUPS // 8});")
            if unit == SQLITE_STOP:
                lines += [f".once result.{rank}", "select sum(n), sum(n * id) from t;"]
            lines.append(f"select writefile('progress.{rank}', '{unit}');")
        (folder / f"batches.{rank}").write_text("\n".join(lines) + "\n")


def sqlite_progress(folder, rank):
    text = last_line(folder / f"progress.{rank}")
    return int(text) if text else 0


def lines_of(folder, rank):
    path = folder / f"out.{rank}"
    return path.read_text().splitlines() if path.exists() else []


def numbered_progress(folder, rank):
    """The number that begins the last whole line."""
    found = re.match(r"(\d+) .*\S$", (lines_of(folder, rank) or [""])[-1])
    return int(found[1]) if found else 0


def numbered_result(stop):
    """The line that begins with this number."""
    return lambda folder, rank: next((line for line in lines_of(folder, rank) if line.startswith(f"{stop} ")), "")


def copied(name, to=None):
    """Copies a file of PROGRAMS, under its own name or another one."""
    return lambda folder, _units: (folder / (to or name)).write_text((PROGRAMS / name).read_text())


ELK_STOP = 8


def elk_prepare(folder, units, atom="Al", length="3.8"):
    """A crystal of one atom in a cell. Elk reads and writes files of fixed names: each rank has a folder."""
    text = (PROGRAMS / "elk.in").read_text().replace("UNITS", str(units)).replace("ATOM", atom)
    for rank in range(migration.RANKS):
        (folder / f"rank.{rank}").mkdir()
        (folder / f"rank.{rank}/elk.in").write_text(text.replace("LENGTH", f"{length}{rank}"))


def elk_energies(folder, rank):
    path = folder / f"rank.{rank}/TOTENERGY.OUT"
    return path.read_text().split() if path.exists() else []


MINIMAP_BASES, MINIMAP_READS, MINIMAP_LENGTH, MINIMAP_BATCH = 3_000_000, 4000, 2000, 50
MINIMAP_STOP = 50


def minimap_prepare(folder, _units):
    """A genome by chance, and reads with errors, 90 % of them from a tenth of it, as where a panel of genes is read."""
    chance = random.Random(0)
    genome = "".join(chance.choices("ACGT", k=MINIMAP_BASES))
    (folder / "genome.fa").write_text(f">genome\n{genome}\n")
    with (folder / "reads.fa").open("w") as file:
        for number in range(MINIMAP_READS):
            at = chance.randrange(MINIMAP_BASES - MINIMAP_LENGTH)
            if chance.random() < 0.9:
                at = MINIMAP_BASES // 2 + at // 10
            read = list(genome[at : at + MINIMAP_LENGTH])
            for _ in range(MINIMAP_LENGTH // 50):
                read[chance.randrange(MINIMAP_LENGTH)] = "A"
            file.write(f">{number}\n{''.join(read)}\n")


def minimap_progress(folder, rank):
    """Batches of MINIMAP_BATCH reads, by the number of the last read that was found."""
    whole = [line for line in lines_of(folder, rank) if line.count("\t") > 11]
    return int(whole[-1].split("\t")[0]) // MINIMAP_BATCH if whole else 0


def digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def minimap_result(folder, rank):
    last = MINIMAP_STOP * MINIMAP_BATCH
    return digest([line for line in lines_of(folder, rank)[:last] if int(line.split("\t")[0]) < last])


CADICAL_VARIABLES, CADICAL_RATIO, CADICAL_STOP = 15000, 4.15, 12


def cadical_prepare(folder, _units):
    """Clauses of three variables by chance, nearly as many as there can be before there is no solution."""
    chance, count = random.Random(0), int(CADICAL_VARIABLES * CADICAL_RATIO)
    with (folder / "clauses").open("w") as file:
        file.write(f"p cnf {CADICAL_VARIABLES} {count}\n")
        for _ in range(count):
            words = chance.sample(range(1, CADICAL_VARIABLES + 1), 3)
            file.write(" ".join(str(word * chance.choice((-1, 1))) for word in words) + " 0\n")


def cadical_reports(folder, rank):
    """The solver's lines on what it has done so far, without the seconds and the memory."""
    return [line.split()[4:] for line in lines_of(folder, rank) if re.match(r"c \S +\d+\.\d\d .*%$", line)]


HPCC_EXAMPLE, HPCC_STOP = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt"), 36
HPCC_PACKED = HPCC_EXAMPLE.with_suffix(".txt.gz")


def hpcc_prepare(folder, _units, rows=1200):
    """Debian's example, with a smaller matrix, on one process: HPC Challenge reads and writes files of fixed names, so
    each rank has a folder."""
    data = HPCC_EXAMPLE.read_bytes() if HPCC_EXAMPLE.exists() else gzip.decompress(HPCC_PACKED.read_bytes())
    lines = data.decode().splitlines()
    for number, value in ((6, rows), (11, 1), (12, 1)):
        lines[number - 1] = f"{value} {lines[number - 1]}"
    for rank in range(migration.RANKS):
        (folder / f"rank.{rank}").mkdir()
        (folder / f"rank.{rank}/hpccinf.txt").write_text("\n".join(lines) + "\n")


def hpcc_lines(folder, rank, pattern):
    path = folder / f"rank.{rank}/hpccoutf.txt"
    return re.findall(pattern, path.read_text(), re.M) if path.exists() else []


# Each rank is an MPI world of its own, which must not look for the others.
MPI_ALONE = "env -i PATH=$PATH HOME=$HOME OMPI_MCA_pml=ob1 OMPI_MCA_btl=self"

PROGRAM = {
    "lammps": Program(
        name="lmp",
        about="LAMMPS, 4 runs of a Lennard-Jones liquid of 23,328 atoms",
        footprint_mib=70,
        warm=60,
        stop=LAMMPS_STOP,
        units=140,
        prepare=copied("lj.in"),
        load=read_files("lmp"),
        command=f"{MPI_ALONE} lmp -in lj.in -log none -screen none -var rank $SLURM_PROCID -var steps UNITS",
        progress=numbered_progress,
        result=numbered_result(LAMMPS_STOP),
    ),
    "hpcc": Program(
        name="hpcc",
        about="HPCC (C), 4 runs of HPC Challenge with a matrix of 1200 x 1200, from its fifth test on",
        footprint_mib=80,
        warm=8,
        stop=HPCC_STOP,
        units=0,
        prepare=hpcc_prepare,
        load=read_files("hpcc"),
        command=f"cd rank.$SLURM_PROCID; {MPI_ALONE} hpcc > out",
        # The beginning and the end of each test are units.
        progress=lambda folder, rank: len(hpcc_lines(folder, rank, r"^(?:Begin|End) of ")),
        result=lambda folder, rank: "\n".join(hpcc_lines(folder, rank, r"^\|\|Ax-b\|\|_oo.*$")),
    ),
    "sqlite": Program(
        name="sqlite3",
        about=f"SQLite, 4 databases in memory of {SQLITE_ROWS:,} rows of 1 KB, 95 % of the queries on a tenth of them",
        footprint_mib=104,
        warm=70,
        stop=SQLITE_STOP,
        units=140,
        prepare=sqlite_prepare,
        load=read_files("sqlite3"),
        command="sqlite3 :memory: < batches.$SLURM_PROCID > /dev/null",
        progress=sqlite_progress,
        result=lambda folder, rank: last_line(folder / f"result.{rank}"),
    ),
    "elk": Program(
        name="elk-lapw",
        about="Elk (Fortran, OpenMP), 4 crystals of aluminium, full-potential density functional theory",
        footprint_mib=87,
        warm=6,
        stop=ELK_STOP,
        units=60,
        prepare=elk_prepare,
        load=read_files("elk-lapw"),
        command="cd rank.$SLURM_PROCID; OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive elk-lapw > out",
        progress=lambda folder, rank: len(elk_energies(folder, rank)),
        result=lambda folder, rank: (elk_energies(folder, rank)[ELK_STOP - 1 : ELK_STOP] or [""])[0],
    ),
    "minimap2": Program(
        name="minimap2",
        about="minimap2 (C, 2 threads each), 4 searches of reads in a genome, 90 % of them from a tenth of it",
        footprint_mib=112,
        warm=40,
        stop=MINIMAP_STOP,
        units=0,
        prepare=minimap_prepare,
        load=read_files("minimap2"),
        command=f"minimap2 -t 2 -K {MINIMAP_BATCH * MINIMAP_LENGTH} genome.fa reads.fa > out.$SLURM_PROCID",
        progress=minimap_progress,
        result=minimap_result,
    ),
    "igraph": Program(
        name="python3",
        about="igraph (C), breadth-first searches in 4 graphs of 30,000 vertices whose degrees follow a power law",
        footprint_mib=128,
        warm=30,
        stop=38,
        units=400,
        prepare=copied("graph.py"),
        load='python3 -c "import igraph"',
        command="exec python3 graph.py $SLURM_PROCID UNITS",
        progress=numbered_progress,
        result=numbered_result(38),
    ),
    "scipy": Program(
        name="python3",
        about="SciPy's Fourier transforms (C++, 2 threads each), 4 wave packets on a grid of 64 x 64 x 64",
        footprint_mib=208,
        warm=20,
        stop=25,
        units=400,
        prepare=copied("waves.py"),
        load='python3 -c "import scipy.fft"',
        command="exec env OPENBLAS_NUM_THREADS=1 python3 waves.py $SLURM_PROCID UNITS",
        progress=numbered_progress,
        result=numbered_result(25),
    ),
    "cadical": Program(
        name="cadical",
        about=f"CaDiCaL (C++), 4 searches for a solution of clauses of {CADICAL_VARIABLES:,} variables",
        footprint_mib=54,
        warm=9,
        stop=CADICAL_STOP,
        units=0,
        prepare=cadical_prepare,
        load=read_files("cadical"),
        command="cadical -n --reportall=1 --reduceint=40 --seed=$SLURM_PROCID clauses > out.$SLURM_PROCID",
        progress=lambda folder, rank: len(cadical_reports(folder, rank)),
        result=lambda folder, rank: digest(map(str, cadical_reports(folder, rank)[:CADICAL_STOP])),
    ),
}
