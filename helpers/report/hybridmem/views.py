# SPDX-License-Identifier: Apache-2.0
"""The table of the views of `hybridmem report`: which records share a row of a view, and which columns the view has."""

from typing import Any, NamedTuple, Optional

from .folds import Common, Count, First, Last, Most, Peak, Ratio, Runs, Sum, placed
from .terms import ITEM, Are, Day, One, Or, Product, Unknown, Value


class Key(NamedTuple):
    name: str  # in JSON and CSV
    title: str  # in tables; "": not shown there
    term: Any


class Column(NamedTuple):
    name: str
    title: str
    unit: str  # a row of forms.UNITS
    fold: Any
    digits: Optional[int] = None  # after the point in JSON and CSV; tables for people round the exact figure
    # the figure is only of nodes for which the run's advice holds (runquery.elect); a run without advice has no row
    is_of_elected: bool = False


OF_ADVICE = ("advice_rule", "can_be_fast")  # the columns by which a run's nodes elect its advice
TOGETHER = {"sum": sum, "max": max}  # what combines the cells of all rows, by the words in a fold's `alls`


class View(NamedTuple):
    name: str
    about: str
    keys: tuple
    columns: tuple
    items: Optional[str] = None  # the list whose items have rows of their own; None: a record has one row
    by: Optional[str] = None  # the figure that ranks the rows; None: they are in the order of their keys
    has_total: bool = True
    is_whole: bool = False  # all rows and columns are shown, however many there are, and with or without figures
    is_of_jobs: bool = False  # a row is one run of a job; there are so many that only the top rows are kept
    top: Optional[int] = None
    note: str = ""
    page_note: Optional[str] = None  # the note on a page, if it has other words there
    no_rows: str = ""  # what it means that no record has given a row

    def names(self):
        """The columns of records that the view needs."""
        parts = [name for key in self.keys for name in key.term.names]
        parts += [name for column in self.columns for name in column.fold.names]
        parts += OF_ADVICE if any(column.is_of_elected for column in self.columns) else ()
        return {self.items if name.startswith(ITEM) else name for name in parts}

    def total(self, rows):
        """Combines the cells of all rows. Runs that are in several of them are counted more than once."""
        made = self.new_row()
        alls = (name for column in self.columns for name in column.fold.alls)
        for number, (name, cells) in enumerate(zip(alls, zip(*rows))):
            known = [cell for cell in cells if cell is not None]
            made[number] = TOGETHER[name](known) if known else made[number]
        return made

    def new_row(self):
        return [cell for column in self.columns for cell in column.fold.start]

    def read(self, row):
        """Yields (column, value, others) of each column."""
        for at, column in placed(self.columns):
            yield column, column.fold.value(row, at), column.fold.others(row, at)

    def unrounded(self, row, name):
        return next(column.fold.unrounded(row, at) for at, column in placed(self.columns) if column.name == name)

    def ranks(self):
        """The figures by which rows can be ranked."""
        return [column.name for column in self.columns if column.unit not in ("text", "prose", "time")]


def or_unknown(column, title, name=None):
    return Key(column, title, Or(name or column, "?"))


def advised(column):
    return column._replace(is_of_elected=True)


FAST_BYTE_MS = Product("fast_mean_bytes", "elapsed_ms")  # weighted by time
ALL_BYTE_MS = Product("all_mean_bytes", "elapsed_ms")
UNUSED_BYTE_MS = Product("unused_bytes", "elapsed_ms")
TIER_BYTE_MS = Product("item_mean_bytes", "elapsed_ms")
ELAPSED_MS = Value("elapsed_ms")

JOBS = Column("jobs", "JOBS", "count", Runs())
FAILED = Column("failed_jobs", "FAILED", "count", Runs(failed=True))
RECORDS = Column("records", "", "count", Count(One()))
NODES = Column("nodes", "NODES", "count", Count(One()))
MS_PER_HOUR = 3_600_000
HOURS = Column("node_hours", "NODE-HOURS", "hours", Sum(ELAPSED_MS, per=MS_PER_HOUR), digits=4)
FAST_PEAK = Column("fast_peak_bytes", "FAST PEAK", "bytes", Peak(Value("fast_peak_bytes")))
SLOW_PEAK = Column("slow_peak_bytes", "SLOW PEAK", "bytes", Peak(Value("slow_peak_bytes")))
FAST_MEAN = Column("fast_mean_bytes", "FAST MEAN", "bytes", Ratio(FAST_BYTE_MS, ELAPSED_MS))
FAST_SHARE = Column("fast_share", "FAST SHARE", "share", Ratio(FAST_BYTE_MS, ALL_BYTE_MS, digits=6))
MILLION = 1_000_000
WARNINGS = Column("warnings", "WARNINGS", "count", Count(Value("warnings")))
PACKAGE_J = Column("package_j", "PACKAGE ENERGY", "joules", Sum(Value("package_uj"), 3, MILLION))
MEMORY_J = Column("memory_j", "MEMORY ENERGY", "joules", Sum(Value("memory_uj"), 3, MILLION))
USER = Column("user", "USER", "text", First(Value("user")))
ACCOUNT = Column("account", "ACCOUNT", "text", First(Value("account")))
MODE = Column("mode", "MODE", "text", First(Value("mode")))

BY_USER = or_unknown("user", "USER")
BY_ACCOUNT = or_unknown("account", "ACCOUNT")
BY_MODE = Key("mode", "MODE", Value("mode"))
COMMON = (JOBS, FAILED, RECORDS, HOURS, FAST_PEAK, SLOW_PEAK, FAST_MEAN, FAST_SHARE, WARNINGS)
RUN = (
    Key("cluster", "", Or("cluster", "")),
    Key("job_id", "", Value("job_id")),
    Key("restart_count", "", Or("restart_count", 0)),
)
JOB = Column("job", "JOB", "text", First(Value("job")))
ALONE = Column("alone_records", "ALONE", "count", Count(Are(False, "shared")))
SHARED = Column("shared_records", "SHARED", "count", Count(Are(True, "shared")))


def of_alone(alone, shared):
    return (
        f"What is unused is counted for the jobs that had their node to themselves ({alone}: the number of their "
        f"records). It is not known what a job beside others ({shared}) left unused."
    )


# The report without a view. It does not tell which node had a peak, and shows all columns, even those without figures.
TOTALS = View(
    "totals",
    "What jobs used by user and mode.",
    (BY_USER, BY_MODE),
    (
        *(JOBS, FAILED, RECORDS, HOURS),
        FAST_PEAK._replace(fold=Most(Value("fast_peak_bytes"))),
        SLOW_PEAK._replace(fold=Most(Value("slow_peak_bytes"))),
        *(FAST_MEAN, FAST_SHARE, WARNINGS),
        Column("unmeasured_records", "", "count", Count(Are(None, "fast_peak_bytes", "slow_peak_bytes"))),
    ),
    by="node_hours",
    is_whole=True,
)

TABLE = (
    View("users", "What each user's jobs used.", (BY_USER,), COMMON, by="node_hours"),
    View("accounts", "What the jobs under each account used.", (BY_ACCOUNT,), COMMON, by="node_hours"),
    View("nodes", "What jobs used on each node.", (Key("node", "NODE", Value("node")),), COMMON, by="node_hours"),
    View("modes", "What jobs used by mode.", (BY_MODE,), COMMON, by="node_hours"),
    View(
        "jobs",
        "The largest jobs; figures of several nodes are sums, or the largest and its node.",
        RUN,
        (
            *(JOB, USER, ACCOUNT, MODE, NODES),
            Column("exit_code", "EXIT", "count", Peak(Value("exit_code"))),
            Column("elapsed_s", "ELAPSED", "seconds", Peak(ELAPSED_MS, 1000)),
            *(HOURS, FAST_PEAK, SLOW_PEAK, FAST_MEAN, FAST_SHARE, PACKAGE_J, WARNINGS),
            Column("end", "END (UTC)", "time", Last(Value("end_text"))),
        ),
        by="node_hours",
        has_total=False,
        is_of_jobs=True,
        top=50,
    ),
    View(
        "tiers",
        "Each tier's memory by the day on which jobs ended.",
        (Key("day", "DAY", Day()), or_unknown("tier", "TIER", "item_name")),
        (
            *(JOBS, RECORDS, HOURS),
            Column("peak_bytes", "PEAK", "bytes", Peak(Value("item_peak_bytes"))),
            Column("mean_bytes", "MEAN", "bytes", Ratio(TIER_BYTE_MS, ELAPSED_MS)),
            Column("byte_hours", "USE", "byte_hours", Sum(TIER_BYTE_MS, 0, MS_PER_HOUR)),
        ),
        "tiers",
        has_total=False,
        no_rows="No record has any tier's memory.",
    ),
    View(
        "waste",
        "Fast memory that jobs which had their nodes to themselves did not use.",
        (BY_USER, BY_MODE),
        (
            *(JOBS, RECORDS, HOURS, ALONE, SHARED, FAST_MEAN),
            Column(
                "unused_share",
                "UNUSED SHARE",
                "share",
                Ratio(UNUSED_BYTE_MS, Product("fast_capacity_bytes", "elapsed_ms"), digits=6),
            ),
            Column("unused_byte_hours", "UNUSED", "byte_hours", Sum(UNUSED_BYTE_MS, 0, MS_PER_HOUR)),
            Column(
                "slow_beside_room_byte_hours",
                "SLOW BESIDE ROOM",
                "byte_hours",
                Sum(Product("slow_beside_room_bytes", "elapsed_ms"), 0, MS_PER_HOUR),
            ),
        ),
        by="unused_byte_hours",
        note=of_alone("ALONE", "SHARED"),
        page_note=of_alone("Alone", "Shared"),
    ),
    View(
        "advice",
        "Jobs that another mode would have suited better, and why.",
        RUN,
        (
            *(JOB, USER, MODE),
            advised(Column("rule", "", "text", First(Value("advice_rule")))),
            advised(Column("wanted", "WANTED", "text", First(Value("advice_wanted")))),
            *(advised(NODES), advised(HOURS)),
            advised(Column("why", "WHY", "prose", First(Value("advice_why")))),
        ),
        by="node_hours",
        has_total=False,
        is_of_jobs=True,
        top=50,
        no_rows="Another mode would have suited no job better.",
    ),
    View(
        "failures",
        "Exit codes, refusals and warnings, by text; N stands for numbers that differ.",
        (Key("kind", "KIND", Value("item_kind")), Key("pattern", "", Value("item_pattern"))),
        (
            Column("text", "TEXT", "prose", Common(Value("item_text"), Value("item_pattern"))),
            *(JOBS, RECORDS, Column("last_job", "LAST JOB", "text", Last(Value("job")))),
        ),
        "failures",
        "jobs",
        has_total=False,
        no_rows="No job failed, was refused anything or was warned.",
    ),
    View(
        "energy",
        "Energy by user and account, of the nodes that measured it.",
        (BY_USER, BY_ACCOUNT),
        (
            *(JOBS, RECORDS, HOURS, PACKAGE_J, MEMORY_J),
            Column("mean_w", "MEAN", "watts", Ratio(Value("metered_uj"), Value("counted_us"), digits=3)),
            Column("package_w", "", "watts", Ratio(Value("package_uj"), Value("counted_us"), digits=3)),
            Column("peak_w", "PEAK", "watts", Peak(Value("peak_uw"), MILLION)),
            Column(
                "joules_per_gb",
                "OF TRAFFIC",
                "joules_per_gb",
                Ratio(Value("metered_uj"), Value("moved_bytes"), 6, factor=1000),
            ),
            Column("estimated_static_j", "ESTIMATED STATIC", "joules", Sum(Value("estimated_static_uj"), 3, MILLION)),
            Column(
                "estimated_dynamic_j", "ESTIMATED DYNAMIC", "joules", Sum(Value("estimated_dynamic_uj"), 3, MILLION)
            ),
        ),
        by="package_j",
    ),
)


def writes(endurance):
    """The view of writes; `endurance`: bytes that can be written to a node's slow tier in its life, None: not known."""
    life = Sum(Value("slow_write_bytes"), 12, endurance) if endurance else Sum(Unknown())
    return View(
        "writes",
        "Writes to the slow tier by user and account, of the nodes that measured them.",
        (BY_USER, BY_ACCOUNT),
        (
            *(JOBS, RECORDS, HOURS),
            Column("slow_write_bytes", "WRITTEN", "bytes", Sum(Value("slow_write_bytes"))),
            Column("slow_read_bytes", "READ", "bytes", Sum(Value("slow_read_bytes"))),
            Column("life_share", "OF ONE NODE'S LIFE" if endurance else "", "fine_share", life),
        ),
        by="slow_write_bytes",
        note="" if endurance else "--endurance tells which share of the memory's life the writes take.",
        page_note="" if endurance else "It was not said how many bytes can be written to the memory in its life.",
    )


NAMES = (*(view.name for view in TABLE), "writes")


def named(name, endurance=None):
    return next((view for view in TABLE if view.name == name), None) or writes(endurance)
