# SPDX-License-Identifier: Apache-2.0
"""Makes the views whose rows are runs of jobs, by SQL in an engine: ranks all runs, and makes the rows of those that
are shown."""

import itertools

from . import rules
from .viewquery import MOST_ROWS, Asking, Query, in_part


def elect():
    """SQL for the rule that decides for a run, by its records, as rules.elect() does; null if no rule does."""
    votes = {rule.name: f"count(CASE WHEN advice_rule = '{rule.name}' THEN 1 END)" for rule in rules.RULES}
    enough = {
        rules.ANY: "1 = 1",
        rules.MOST: "2 * {votes} > count(*)",
        rules.ALL: "count(CASE WHEN can_be_fast THEN 1 END) = count(*)",
    }
    cases = (
        f"WHEN {votes[rule.name]} > 0 AND {enough[rule.needs].format(votes=votes[rule.name])} THEN '{rule.name}'"
        for rule in sorted(rules.RULES, key=lambda rule: rules.place(rule.name))
    )
    return f"CASE {' '.join(cases)} END"


class Runs(Asking):
    """The runs that have wanted records; the view shows the largest of them."""

    def __init__(self, tables, sums):
        self.tables, self.connection, self.values = tables, tables.connection, tables.values
        self.sums, self.view, self.source = sums, sums.view, tables.source()
        self.is_elected = any(column.is_of_elected for column in self.view.columns)
        self.ranking = next(column for column in self.view.columns if column.name == sums.by)

    def of(self, runs, condition="1 = 1"):
        """SQL for the records that meet a condition, of the runs in the table `runs`."""
        return f"(SELECT found.* FROM {self.source} AS found JOIN {runs} USING (run) WHERE {condition})"

    def of_elected(self, runs, condition="1 = 1"):
        """SQL for the records whose own advice is by the rule that decides for their run."""
        return self.of(runs, f"advice_rule = rule AND {condition}")

    def rank(self):
        """Makes a table of the runs that have a row; returns how many there are."""
        ranked = self.source
        if self.is_elected:
            self.store(
                "elected",
                f"SELECT * FROM (SELECT run, {elect()} AS rule FROM {self.source} AS found GROUP BY run) AS made "
                "WHERE rule IS NOT NULL",
                *self.values,
            )
            ranked = self.of_elected("elected")
        self.store(
            "ranked",
            f"SELECT run, {self.ranking.fold.rank()} AS rank FROM {ranked} AS found GROUP BY run",
            *self.values,
        )
        return self.run("SELECT count(*) FROM ranked")[0][0]

    def choose(self):
        """Makes a table of the runs that are shown: the largest, of equal ones those whose records are read first.
        Returns them in that order. Both engines sort null behind all figures."""
        place = self.sums.top - 1
        least = self.run(f"SELECT rank FROM ranked ORDER BY rank DESC LIMIT 1 OFFSET {place}")
        within = "WHERE rank >= ?" if least and least[0][0] is not None else ""
        rule = "max(rule)" if self.is_elected else "NULL"
        rules_of = "JOIN elected USING (run)" if self.is_elected else ""
        self.store(
            "chosen",
            f"SELECT run, max(rank) AS rank, {rule} AS rule, min(met) AS met FROM {self.source} AS found "
            f"JOIN (SELECT * FROM ranked {within}) AS largest USING (run) {rules_of} "
            f"GROUP BY run ORDER BY max(rank) DESC, min(met) LIMIT {self.sums.top}",
            *self.values,
            *(least[0] if within else ()),
        )
        return self.run("SELECT run, rule FROM chosen ORDER BY rank DESC, met")

    def rows(self, columns, source):
        query = Query(self.tables, source, self.view.keys, columns, "run")
        query.add_up()
        found = query.rows()
        query.name_nodes(found)
        return found

    def fill(self):
        runs, chosen = self.rank(), self.choose()
        of_all, of_elected = ([c for c in self.view.columns if c.is_of_elected == is_so] for is_so in (False, True))
        rows, advised = {}, {}
        parts = 1 + len(chosen) // MOST_ROWS  # more rows, with their words, may not fit into the engine's memory
        for part in range(parts):
            rows.update(self.rows(of_all, self.of("chosen", in_part(part, parts))))
            if of_elected:
                advised.update(self.rows(of_elected, self.of_elected("chosen", in_part(part, parts))))
        self.sums.rows = [
            (rows[run][0], self.row(iter(rows[run][1]), iter(advised[run][1] if of_elected else ())))
            for run, _ in chosen
        ]
        self.sums.dropped = runs - len(chosen)

    def row(self, cells, of_elected):
        """The cells of all columns, in their order."""
        made = []
        for column in self.view.columns:
            made += itertools.islice(of_elected if column.is_of_elected else cells, len(column.fold.start))
        return made


def fill(tables, sums):
    """Fills the rows of a view of runs."""
    Runs(tables, sums).fill()
