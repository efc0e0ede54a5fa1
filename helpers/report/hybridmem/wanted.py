# SPDX-License-Identifier: Apache-2.0
"""Says which records a report covers, and which of the wanted names no record has. Pure."""

from . import fields, moments, words

NAMES = ("user", "account", "mode")  # options by which records are chosen
MOST_NAMED = 12


def names_of(record):
    return fields.name(record, "user"), fields.name(record, "account"), fields.clean(fields.mode(record))


class Wanted:
    """The conditions of the options on records, and the names that were met in the records."""

    def __init__(self, options):
        self.chosen = [getattr(options, name) for name in NAMES]
        self.period = moments.Period(options.since, options.until)
        self.met = set()  # the names in all records of the period, chosen or not

    def has_names(self, names):
        return all(not chosen or name in chosen for name, chosen in zip(names, self.chosen))

    def has(self, record):
        return self.has_names(names_of(record)) and self.period.has(fields.text(record, "end"))

    def meet(self, record):
        """Is the record wanted? Also remembers its names, if it is of the period."""
        if not self.period.has(fields.text(record, "end")):
            return False
        names = names_of(record)
        self.met.add(names)
        return self.has_names(names)

    def notes(self):
        """Lines about wanted names that no matching record has. If no record matches, there is at least one line."""
        matching = [names for names in self.met if self.has_names(names)]
        lines = [line for place in range(len(NAMES)) for line in self.absent(place, matching)] if self.met else []
        return lines if lines or matching else ["no record matches, of those that you may read"]

    def absent(self, place, matching):
        option, chosen = NAMES[place], self.chosen[place] or frozenset()
        known = {names[place] for names in self.met}
        unmatched = known.intersection(chosen).difference(names[place] for names in matching)
        period = " of this period" if self.period.since or self.period.until else ""
        if unknown := ", ".join(sorted(chosen - known)):
            where = f"in the records{period} that you may read"
            yield f"--{option} {unknown}: there is no such {option} {where}: {words.either(shown(known))}"
        if unmatched:
            yield f"--{option} {', '.join(sorted(unmatched))}: none of their records matches the other options"


def shown(names):
    """The names in order; of many names the first ones."""
    more = len(names) - MOST_NAMED
    return [*sorted(names)[:MOST_NAMED], *([f"one of {more} more"] if more > 0 else [])]
