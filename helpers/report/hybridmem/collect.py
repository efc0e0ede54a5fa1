# SPDX-License-Identifier: Apache-2.0
"""hybridmem-collect: merges the records of each ended job into one summary in Slurm's database.

An entry of the spool folder is removed only when its job's summary is in the database, or when its job gets none. An
entry that can never be done is set aside. If the collector is killed at any point, the next one repeats the work, and
finds what is already done."""

import collections
import contextlib
import os
import stat
import time
from pathlib import Path

from . import commands, database, jobrecords, merge, moments, program, settings, spool, summaries, words
from .failure import Failure

NAME = "hybridmem-collect"
PERIOD_S = 5  # between two passes over the spool folder
PASS_S = 30  # after which a pass stops early, so that entries that have come meanwhile are seen
TIDY_S = 3600  # between two removals of old files in the spool folder
LOOK_S = 15  # between two looks at the files of a job's nodes
FIRST_RETRY_S, LAST_RETRY_S = 30, 3600
GIVE_UP_S = 24 * 3600  # seconds of an entry's own failures after which it is given up
MOST_TOLD = 1000  # largest number of different messages that are remembered; further ones are not logged
EPILOG = """\
Without --once it goes on until it is ended, as hybridmem-collect.service does. Only one collector works on a spool
folder at a time.
Exit status: 0, 1 when it cannot work at all, 2 for wrong arguments."""


class Later(Exception):
    """Not an error: the entry is due again at the time `due`."""

    def __init__(self, due):
        super().__init__(due)
        self.due = due


class Hopeless(Exception):
    """The entry can never be done. Has the reason, and its kind."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Visit:
    """What is known of an entry between two looks at it."""

    def __init__(self, answers=0):
        self.due = self.tries = 0
        self.records = self.failure = self.owner = None
        self.answers = answers  # Collector.answers when this entry failed last, or was first seen


class Collector:
    """Handles the entries of a spool folder. `clock` and `pause` are time.time and time.sleep; `log` takes a line."""

    def __init__(self, config, folder, base, clock=time.time, pause=time.sleep, log=None):
        self.spool, self.database, self.clock, self.pause = folder, base, clock, pause
        self.log = log or (lambda line: program.tell(NAME, line))
        self.record_dir, self.cluster = config.text("record_dir"), config.option("cluster")
        self.wait_s, self.gap_s = config.seconds("collect_wait"), 60 / config.number("summary_rate")
        self.visits, self.told, self.failing = {}, set(), set()
        self.served, self.n_served = {}, 0  # the number of each user's last visit
        self.of_folder = Visit()  # for failures to read the spool folder itself
        self.next_turn = self.next_tidy = 0
        self.answers = 0  # how often the database has answered, for any entry

    def visit_each(self):
        """Visits the entries that are due by now, each once: one that fails is due later, however long the visits
        take."""
        due = self.clock()
        while self.visit_all(due):
            pass

    def visit_all(self, due=None):
        """Makes one pass over the entries that are due by the time `due`, or now. Returns whether it ended early, with
        such entries left."""
        if self.clock() >= self.next_tidy:
            self.next_tidy = self.clock() + TIDY_S
            self.tidy()
        try:
            names = self.spool.names()
        except OSError as error:
            self.begin_failing(self.of_folder, error, str(error))
            return False
        self.end_failing(self.of_folder)
        self.visits = {name: self.visits.get(name) or Visit(self.answers) for name in names}
        begin = self.clock()
        due = begin if due is None else due
        for name in self.in_turns(name for name in names if self.visits[name].due <= due):
            if self.clock() > begin + PASS_S:
                return True
            self.n_served += 1
            self.served[self.owner(name)] = self.n_served
            self.visit(name, self.visits[name])
        return False

    def in_turns(self, names):
        """The names in an order in which users take turns, beginning with the user who was served longest ago:
        otherwise a user with very many jobs would keep the summaries of others waiting."""
        turns = collections.Counter()
        order = []
        for at, name in enumerate(names):
            owner = self.owner(name)
            order.append((turns[owner], self.served.get(owner, 0), at, name))
            turns[owner] += 1
        return [name for *_, name in sorted(order)]

    def owner(self, name):
        """The uid of the entry's user. None where the entry cannot be read, which its visit will tell."""
        visit = self.visits[name]
        if visit.owner is None:
            with contextlib.suppress(spool.Gone, spool.Unreadable, OSError):
                visit.owner = self.spool.read(name)["uid"]
        return visit.owner

    def tidy(self):
        removed, failed = self.spool.tidy(self.clock())
        if removed:
            days = spool.KEEP_ASIDE_S // (24 * 3600)
            self.log(
                f"removed {removed} of the entries in {self.spool.aside}: it keeps {spool.MOST_ASIDE} for {days} days"
            )
        for error in failed:
            self.tell(str(error), f"an old file cannot be removed, and stays: {error}")

    def visit(self, name, visit):
        """Does what can be done for an entry. Afterwards it is gone, or `visit.due` says when it is due again."""
        try:
            self.attempt(name, visit)
        except OSError as error:
            visit.due = self.clock() + LAST_RETRY_S
            self.begin_failing(visit, error, f"{name}: {error}")

    def attempt(self, name, visit):
        try:
            self.work(name, visit)
            self.end_failing(visit)
        except spool.Gone:
            pass
        except Later as later:
            visit.due = later.due
        except spool.Unreadable as error:
            self.set_aside(name, "unreadable", str(error))
        except Hopeless as error:
            self.set_aside(name, error.kind, str(error))
            self.end_failing(visit)
        except database.NotYet as error:  # slurmdbd may be behind slurmctld: not worth a message
            self.answers += 1
            self.put_off(name, visit, error, is_own=True)
        except commands.Failed as error:
            self.begin_failing(visit, error, f"{error}; it is tried again")
            self.put_off(name, visit, error, is_own=self.answers > visit.answers)

    def work(self, name, visit):
        entry, now = self.spool.read(name), self.clock()
        if entry["end_s"] > now + moments.AHEAD_S:
            raise Hopeless("ahead", "the job's end is in the future: look at the clock of slurmctld's host")
        if visit.records is None:
            nodes = self.database.nodes(entry["nodes"])
            visit.records = jobrecords.JobRecords(self.record_dir, self.cluster or entry["cluster"], entry, nodes)
        last = entry["end_s"] + self.wait_s
        if now < last and not entry["asked"]:
            raise Later(last)  # most jobs without a request have no record: one look at the end is enough
        if now < last and not visit.records.look(now):
            raise Later(now + LOOK_S)
        found = visit.records.read(now, is_wanted=entry["asked"])
        if found or entry["asked"]:
            self.write(entry, summaries.encode(merge.summary(entry, visit.records.nodes, found)))
            self.answers += 1
        self.spool.remove(name)

    def write(self, entry, text):
        """Writes the text to the database, unless it is there already, or a later run of the job has taken this one's
        place. Raises Hopeless if the field has another tool's text."""
        self.take_turn()
        row = database.choose(entry, self.database.rows(entry))
        if row is None:
            self.log(
                f"job {database.named(entry)} was requeued: Slurm's database takes a summary for its last run only"
            )
        elif row.text and not row.text.startswith(summaries.MARK):
            raise Hopeless(
                f"{self.database.field} is taken",
                f"{self.database.field} of job {database.named(entry)} has another tool's text, which stays: name "
                "another summary_field in hybridmem.conf",
            )
        elif row.text != text:
            self.database.write(entry, text)

    def take_turn(self):
        """Waits until the database may be asked again."""
        now = self.clock()
        if now < self.next_turn:
            self.pause(self.next_turn - now)
        self.next_turn = max(now, self.next_turn) + self.gap_s

    def put_off(self, name, visit, error, is_own):
        """Sets when the entry is tried again: each time after twice the time, at most an hour. `is_own`: the database
        works, so the failure is the entry's own. (The database has answered for some entry since this one failed last,
        or it has just said that it does not know the end of this entry's job yet.) After a day of such failures the
        entry is given up. While the database is down or no collector runs, entries only wait."""
        if is_own and self.spool.failed(name, self.clock()) >= GIVE_UP_S:
            self.set_aside(name, "given up", f"given up after a day: {error}")
            return
        visit.due = self.clock() + min(FIRST_RETRY_S << min(visit.tries, 10), LAST_RETRY_S)
        visit.tries += 1
        visit.answers = self.answers

    def set_aside(self, name, kind, reason):
        self.spool.set_aside(name, reason)
        self.tell(kind, f"{name} is set aside in {self.spool.aside}: {reason}")

    def tell(self, kind, line):
        """Logs a line once for each kind: a field with another tool's text, for instance, is the same for all jobs."""
        if kind not in self.told and len(self.told) < MOST_TOLD:
            self.told.add(kind)
            self.log(line)

    def begin_failing(self, visit, error, line):
        """Logs a failure once until it is over: a database that is down is the same for all jobs."""
        visit.failure = str(error)
        if visit.failure not in self.failing and len(self.failing) < MOST_TOLD:
            self.failing.add(visit.failure)
            self.log(line)

    def end_failing(self, visit):
        """`visit`, of an entry or of the folder, does not fail any more. If its failure was logged, logs that work goes
        on, and forgets all failures, so that one that comes back is logged again."""
        if visit.failure in self.failing:
            self.log(f"goes on again, after: {visit.failure}")
            self.failing.clear()
        visit.failure = None


def arguments():
    parser = words.Parser(
        prog=NAME,
        description="Write a summary of each job's records into Slurm's database (summary_field of hybridmem.conf).",
        epilog=EPILOG,
    )
    parser.add_argument("--once", action="store_true", help="do what can be done now, and end")
    parser.add_argument("--config", metavar="FILE", help="instead of the usual hybridmem.conf")
    parser.add_argument("--slurm", metavar="DIR", help="folder of Slurm's commands, where it is not a usual one")
    return parser


def refusal(folder, group):
    """What to do where the folder of the records may not be listed. Where this process has the folder's group, and the
    group may, an NFS server has decided by groups of its own, which know nothing of those of the service's unit."""
    try:
        status = Path(folder).stat()
        is_servers = status.st_mode & stat.S_IRGRP and status.st_gid in (os.getegid(), *os.getgroups())
    except OSError:  # it is in a folder that may not be entered
        is_servers = False
    if is_servers:
        return f"its NFS server looks up groups itself (manage-gids): make the user a member of {group} on the server"
    return f"make the user who runs this a member of {group} (record_group)"


def check_records(folder, group):
    """Checks that the folder of the records can be listed, as only users who may read all records can list it. Raises
    Failure with advice."""
    try:
        with os.scandir(folder):
            return
    except PermissionError as error:
        raise Failure(f"cannot read record_dir {folder}: {refusal(folder, group)}") from error
    except FileNotFoundError as error:
        raise Failure(f"there is no record_dir {folder}: make it, or mount it here") from error
    except OSError as error:
        raise Failure(f"cannot read record_dir {folder}: {error.strerror}") from error


def main(config_program):
    options = arguments().parse_args()
    config = settings.read(config_program, options.config)
    field = config.text("summary_field")
    if field == "none":
        program.tell(NAME, "summary_field is none in hybridmem.conf: there is nothing to do")
        return 0
    check_records(config.text("record_dir"), config.text("record_group"))
    folder = spool.Spool(config.text("spool_dir"))
    folder.open()
    base = database.Database(field, options.slurm)
    collector = Collector(config, folder, base)
    if options.once:
        base.check()  # nobody would try again; a service goes on, as they may come with a file system
        collector.visit_each()
        return 0
    while True:
        if not collector.visit_all():
            time.sleep(PERIOD_S)
