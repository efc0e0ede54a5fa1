# SPDX-License-Identifier: Apache-2.0
"""Makes the views that have a row for each run of a job, from a history's columns with DuckDB: ranks all runs, and
makes the rows of those that are shown, with the cells that groups.Jobs has after all records."""

import itertools

from . import engine, groups, rules
from .folds import Elected, Ratio, met
from .viewquery import Query, source


def elect():
    """SQL for the rule that decides for a run, by its records, as rules.elect() does; null if no rule does."""
    votes = {rule.name: f"count(*) FILTER (advice_rule = '{rule.name}')" for rule in rules.RULES}
    enough = {
        rules.ANY: "true",
        rules.MOST: "2 * {votes} > count(*)",
        rules.ALL: "count(*) FILTER (can_be_fast) = count(*)",
    }
    cases = (
        f"WHEN {votes[rule.name]} > 0 AND {enough[rule.needs].format(votes=votes[rule.name])} THEN '{rule.name}'"
        for rule in sorted(rules.RULES, key=lambda rule: rules.place(rule.name))
    )
    return f"CASE {' '.join(cases)} END"


def rank(column):
    """SQL for the figure by which a column ranks the rows of a view."""
    fold = column.fold
    first, *others = fold.cells()
    if isinstance(fold, Ratio):
        quotient = f"({first})::DOUBLE * {fold.factor} / {others[0]}"
        return f"CASE WHEN {others[0]} <> 0 THEN round_even({quotient}, {fold.digits or 0}) END"
    return f"round_even({first} / {fold.per:.1f}, {fold.digits})" if getattr(fold, "digits", None) else first


def elected(column):
    """The column with a plain fold in place of an Elected one: the engine has elected before, and reads only the nodes
    that voted for the run's rule."""
    return column._replace(fold=column.fold.fold) if isinstance(column.fold, Elected) else column


class Runs(engine.Asking):
    """The runs that have wanted records; the view shows the largest of them."""

    def __init__(self, connection, paths, where, values, sums):
        self.connection, self.values, self.sums, self.view = connection, values, sums, sums.view
        self.source = source(self.view, paths, where)
        self.is_elected = any(isinstance(column.fold, Elected) for column in self.view.columns)
        self.ranking = elected(next(column for column in self.view.columns if column.name == sums.by))

    def of_elected(self, runs):
        """SQL for the records whose own advice is by the rule that decides for their run."""
        return f"(SELECT found.* FROM {self.source} found JOIN {runs} USING (run) WHERE advice_rule = rule)"

    def rank(self):
        """Makes a table of the runs that have a row; returns how many there are."""
        ranked = self.source
        if self.is_elected:
            self.run(
                "CREATE OR REPLACE TEMP TABLE elected AS SELECT * FROM "
                f"(SELECT run, {elect()} AS rule FROM {self.source} GROUP BY run) WHERE rule IS NOT NULL",
                *self.values,
            )
            ranked = self.of_elected("elected")
        self.run(
            f"CREATE OR REPLACE TEMP TABLE ranked AS SELECT run, {rank(self.ranking)} AS rank FROM {ranked} "
            "GROUP BY run",
            *self.values,
        )
        return self.run("SELECT count(*) FROM ranked")[0][0]

    def choose(self):
        """Makes a table of the runs that are shown: the largest, of equal ones those whose records are read first.
        Returns them in that order."""
        place = self.sums.top - 1
        least = self.run(f"SELECT rank FROM ranked ORDER BY rank DESC NULLS LAST LIMIT 1 OFFSET {place}")
        within = "WHERE rank >= ?" if least and least[0][0] is not None else ""
        rule = "any_value(rule)" if self.is_elected else "NULL"
        rules_of = "JOIN elected USING (run)" if self.is_elected else ""
        self.run(
            f"CREATE OR REPLACE TEMP TABLE chosen AS SELECT run, any_value(rank) AS rank, {rule} AS rule, "
            f"min({met('run', 'run')}) AS met FROM {self.source} JOIN (SELECT * FROM ranked {within}) USING (run) "
            f"{rules_of} GROUP BY run ORDER BY rank DESC NULLS LAST, met LIMIT {self.sums.top}",
            *self.values,
            *(least[0] if within else ()),
        )
        return self.run("SELECT run, rule FROM chosen ORDER BY rank DESC NULLS LAST, met")

    def rows(self, columns, source):
        query = Query(self.connection, source, self.values, self.view.keys, columns, "run")
        query.add_up()
        found = query.rows()
        query.name_nodes(found)
        return found

    def fill(self):
        runs, chosen = self.rank(), self.choose()
        of_all = [column for column in self.view.columns if not isinstance(column.fold, Elected)]
        of_elected = [elected(column) for column in self.view.columns if isinstance(column.fold, Elected)]
        rows = self.rows(of_all, f"(SELECT found.* FROM {self.source} found JOIN chosen USING (run))")
        advised = self.rows(of_elected, self.of_elected("chosen")) if of_elected else {}
        for order, (run, rule) in enumerate(chosen):
            key, cells = rows[run]
            self.sums.keep(order, key, self.row(iter(cells), iter(advised[run][1] if rule else ()), rule))
        self.sums.dropped = runs - len(chosen)

    def row(self, cells, of_elected, rule):
        """The cells of all columns. Those of elected nodes are made as if there were no other nodes."""
        made = []
        for column in self.view.columns:
            if isinstance(column.fold, Elected):
                width = len(column.fold.fold.start)
                made += [1, 1, {rule: [1, *itertools.islice(of_elected, width)]}]
            else:
                made += itertools.islice(cells, len(column.fold.start))
        return made


def fill(connection, paths, where, values, sums):
    """Fills the rows of a view of runs. Returns False if its records have to be read."""
    if sums.top > groups.Groups.LIMIT:  # so many rows, with their words, may not fit into the engine's memory
        return False
    Runs(connection, paths, where, values, sums).fill()
    return True
