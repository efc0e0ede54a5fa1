# SPDX-License-Identifier: Apache-2.0
"""The views of `hybridmem report`, as one table: by what records are put together, and what is said of them."""

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from . import fields, figures, rules
from .figures import of
from .folds import Common, Count, Elected, First, Last, Peak, Ratio, Sum, Unknown
from .items import by, by_day_and_tier, by_failure, by_job, by_mode, by_opinion, by_user_and_mode, job_name, word


class Key(NamedTuple):
    name: str  # in JSON and CSV
    title: str  # in tables; "": not shown there


class Column(NamedTuple):
    name: str
    title: str
    unit: str  # a row of forms.UNITS
    fold: Any
    digits: Optional[int] = None  # after the point in JSON and CSV; people's are rounded from the figure itself


class View(NamedTuple):
    name: str
    about: str
    keys: tuple
    columns: tuple
    items: Callable  # figures -> [(key, item)]: the rows that the record belongs to
    by: Optional[str] = None  # the figure that ranks the rows; None: they are in the order of their keys
    has_total: bool = True
    is_of_jobs: bool = False  # a row is one run of a job: of so many only the top is kept
    top: Optional[int] = None
    wants: Optional[str] = None  # a row without this figure is none
    note: str = ""
    no_rows: str = ""  # what it means that no record has given a row

    def new_row(self):
        return [cell for column in self.columns for cell in column.fold.start]

    def add(self, row, case):
        at = 0
        for column in self.columns:
            column.fold.add(row, at, case)
            at += len(column.fold.start)

    def read(self, row):
        """(column, value, others) of each column; a view's rows are read rarely, and added to often."""
        at = 0
        for column in self.columns:
            yield column, column.fold.value(row, at), column.fold.others(row, at)
            at += len(column.fold.start)

    def figure(self, row, name):
        return next(value for column, value, _ in self.read(row) if column.name == name)

    def has(self, row):
        return self.wants is None or self.figure(row, self.wants) is not None

    def ranks(self):
        """The figures by which rows can be ranked."""
        return [column.name for column in self.columns if column.unit not in ("text", "prose", "time")]


def advised(column):
    """Of the nodes for which the job's advice holds."""
    vote = Elected(
        lambda case: case.item.advice and case.item.advice.rule,
        lambda case: case.item.can_be_fast,
        rules.elect,
        column.fold,
    )
    return column._replace(fold=vote)


def named_job(case):
    return job_name(case.record)


JOBS = Column("jobs", "JOBS", "count", Count(lambda case: case.is_new))
FAILED = Column("failed_jobs", "FAILED", "count", Count(lambda case: case.is_new_failure))
RECORDS = Column("records", "", "count", Count(lambda case: 1))
NODES = Column("nodes", "NODES", "count", Count(lambda case: 1))
MS_PER_HOUR = 3_600_000
HOURS = Column("node_hours", "NODE-HOURS", "hours", Sum(of("elapsed_ms"), per=MS_PER_HOUR), digits=4)
FAST_PEAK = Column("fast_peak_bytes", "FAST PEAK", "bytes", Peak(of("fast_peak")))
SLOW_PEAK = Column("slow_peak_bytes", "SLOW PEAK", "bytes", Peak(of("slow_peak")))
FAST_MEAN = Column("fast_mean_bytes", "FAST MEAN", "bytes", Ratio(of("fast_byte_ms"), of("elapsed_ms")))
FAST_SHARE = Column("fast_share", "FAST SHARE", "share", Ratio(of("fast_byte_ms"), of("all_byte_ms"), digits=6))
MILLION = 1_000_000
WARNINGS = Column("warnings", "WARNINGS", "count", Count(of("warnings")))
PACKAGE_J = Column("package_j", "PACKAGES", "joules", Sum(of("package_uj"), 3, MILLION))
MEMORY_J = Column("memory_j", "MEMORY", "joules", Sum(of("memory_uj"), 3, MILLION))
USER = Column("user", "USER", "text", First(word("user")))
ACCOUNT = Column("account", "ACCOUNT", "text", First(word("account")))
MODE = Column("mode", "MODE", "text", First(lambda case: fields.clean(fields.mode(case.record))))

COMMON = (JOBS, FAILED, RECORDS, HOURS, FAST_PEAK, SLOW_PEAK, FAST_MEAN, FAST_SHARE, WARNINGS)
RUN = (Key("cluster", ""), Key("job_id", ""), Key("restart_count", ""))
JOB = Column("job", "JOB", "text", First(named_job))
ALONE = Column("alone_records", "ALONE", "count", Count(lambda case: case.figures.had_company is False))
SHARED = Column("shared_records", "SHARED", "count", Count(lambda case: case.figures.had_company is True))
OF_ALONE = (
    "Unused is what the jobs left that had their node to themselves (ALONE: so many records). Beside other jobs "
    "(SHARED) what a job left is not known."
)

TABLE = (
    View("users", "What each user's jobs used.", (Key("user", "USER"),), COMMON, by("user"), "node_hours"),
    View(
        "accounts",
        "What the jobs under each account used.",
        (Key("account", "ACCOUNT"),),
        COMMON,
        by("account"),
        "node_hours",
    ),
    View("nodes", "What jobs used on each node.", (Key("node", "NODE"),), COMMON, by("node"), "node_hours"),
    View("modes", "What jobs used by mode.", (Key("mode", "MODE"),), COMMON, by_mode, "node_hours"),
    View(
        "jobs",
        "The largest jobs; figures of several nodes are sums, or the largest and its node.",
        RUN,
        (
            *(JOB, USER, ACCOUNT, MODE, NODES),
            Column("exit_code", "EXIT", "count", Peak(lambda case: fields.integer(case.record, "exit_code"))),
            Column("elapsed_s", "ELAPSED", "seconds", Peak(of("elapsed_ms"), 1000)),
            *(HOURS, FAST_PEAK, SLOW_PEAK, FAST_MEAN, FAST_SHARE, PACKAGE_J, WARNINGS),
            Column("end", "END (UTC)", "time", Last(word("end"))),
        ),
        by_job,
        "node_hours",
        has_total=False,
        is_of_jobs=True,
        top=50,
    ),
    View(
        "tiers",
        "Each tier's memory by the day on which jobs ended.",
        (Key("day", "DAY"), Key("tier", "TIER")),
        (
            *(JOBS, RECORDS, HOURS),
            Column("peak_bytes", "PEAK", "bytes", Peak(figures.of_item("peak_bytes"))),
            Column(
                "mean_bytes",
                "MEAN",
                "bytes",
                Ratio(figures.of_item_by("mean_bytes", "elapsed_ms"), figures.where_item("elapsed_ms", "mean_bytes")),
            ),
            Column(
                "byte_hours",
                "USE",
                "byte_hours",
                Sum(figures.of_item_by("mean_bytes", "elapsed_ms"), 0, MS_PER_HOUR),
            ),
        ),
        by_day_and_tier,
        has_total=False,
        no_rows="No record has any tier's memory.",
    ),
    View(
        "waste",
        "Fast memory that jobs which had their nodes to themselves did not use.",
        (Key("user", "USER"), Key("mode", "MODE")),
        (
            *(JOBS, RECORDS, HOURS, ALONE, SHARED, FAST_MEAN),
            Column(
                "unused_share",
                "UNUSED SHARE",
                "share",
                Ratio(of("unused_byte_ms"), of("capacity_byte_ms"), digits=6),
            ),
            Column(
                "unused_byte_hours",
                "UNUSED",
                "byte_hours",
                Sum(of("unused_byte_ms"), 0, MS_PER_HOUR),
            ),
            Column(
                "slow_beside_room_byte_hours",
                "SLOW BESIDE ROOM",
                "byte_hours",
                Sum(of("slow_beside_room_byte_ms"), 0, MS_PER_HOUR),
            ),
        ),
        by_user_and_mode,
        "unused_byte_hours",
        note=OF_ALONE,
    ),
    View(
        "advice",
        "Jobs that wanted another mode, and why.",
        RUN,
        (
            *(JOB, USER, MODE),
            advised(Column("rule", "", "text", First(lambda case: case.item.advice.rule))),
            advised(Column("wanted", "WANTED", "text", First(lambda case: case.item.advice.wanted))),
            *(advised(NODES), advised(HOURS)),
            advised(Column("why", "WHY", "prose", First(lambda case: case.item.advice.why))),
        ),
        by_opinion,
        "node_hours",
        has_total=False,
        is_of_jobs=True,
        top=50,
        wants="rule",
        no_rows="No job wanted another mode.",
    ),
    View(
        "failures",
        "Exit codes, refusals and warnings, by text; N stands for numbers that differ.",
        (Key("kind", "KIND"), Key("pattern", "")),
        (
            Column("text", "TEXT", "prose", Common(lambda case: case.item[0], lambda case: case.item[1])),
            *(JOBS, RECORDS, Column("last_job", "LAST JOB", "text", Last(named_job))),
        ),
        by_failure,
        "jobs",
        has_total=False,
        no_rows="No job failed, was refused anything or was warned.",
    ),
    View(
        "energy",
        "Energy by user and account, of the nodes that measured it.",
        (Key("user", "USER"), Key("account", "ACCOUNT")),
        (
            *(JOBS, RECORDS, HOURS, PACKAGE_J, MEMORY_J),
            Column("mean_w", "MEAN", "watts", Ratio(of("metered_uj"), of("counted_us"), digits=3)),
            Column("package_w", "", "watts", Ratio(of("package_uj"), of("counted_us"), digits=3)),
            Column("peak_w", "PEAK", "watts", Peak(of("peak_uw"), MILLION)),
            Column(
                "joules_per_gb",
                "OF TRAFFIC",
                "joules_per_gb",
                Ratio(of("metered_uj"), of("moved_bytes"), 6, factor=1000),
            ),
            Column("estimated_static_j", "ESTIMATED STATIC", "joules", Sum(of("static_uj"), 3, MILLION)),
            Column("estimated_dynamic_j", "ESTIMATED DYNAMIC", "joules", Sum(of("dynamic_uj"), 3, MILLION)),
        ),
        by("user", "account"),
        "package_j",
    ),
)


def writes(endurance):
    """The view of writes; `endurance`: bytes that a node's slow tier takes in its life, None: not known."""
    life = Sum(of("slow_written"), 12, endurance) if endurance else Unknown()
    return View(
        "writes",
        "Writes to the slow tier by user and account, of the nodes that measured them.",
        (Key("user", "USER"), Key("account", "ACCOUNT")),
        (
            *(JOBS, RECORDS, HOURS),
            Column("slow_write_bytes", "WRITTEN", "bytes", Sum(of("slow_written"))),
            Column("slow_read_bytes", "READ", "bytes", Sum(of("slow_read"))),
            Column("life_share", "OF ONE NODE'S LIFE" if endurance else "", "fine_share", life),
        ),
        by("user", "account"),
        "slow_write_bytes",
        note="" if endurance else "What that takes of the memory's life is known with --endurance.",
    )


NAMES = (*(view.name for view in TABLE), "writes")


def named(name, endurance=None):
    return next((view for view in TABLE if view.name == name), None) or writes(endurance)
