# SPDX-License-Identifier: Apache-2.0
"""Encodes a job's summary for Slurm's database: "HM1:" and base64 of gzip of JSON, at most 4096 characters.

If it is too long, parts are left out one after the other, in the order of _CUTS. `sources` has no place in that order:
after each cut, it is left out only if the summary is too long with it. `left_out` of the summary names what is left
out."""

import base64
import binascii
import gzip
import json
import zlib

from . import fields, nodenames

MARK = "HM1:"
MOST_BYTES = 4096  # largest text
MOST_JSON = 1 << 16  # largest JSON that is accepted from a text of unknown origin


class Wrong(ValueError):
    """The text is no summary, for this reason."""


def _plain(summary):
    return json.dumps(summary, separators=(",", ":")).encode("ascii")


def pack(summary):
    """The text, of any length. The same summary always gives the same text, as gzip's time stamp is 0."""
    return MARK + base64.b64encode(gzip.compress(_plain(summary), 9, mtime=0)).decode("ascii")


def _fits(summary):
    """Will decode() accept it? Repetitive JSON packs well: the text may be short, but the JSON too long."""
    folded = _folded(summary)
    return len(_plain(folded)) <= MOST_JSON and len(pack(folded)) <= MOST_BYTES


def _without(summary, name, /, **changes):
    """The summary with these keys changed and `name` added to left_out. The summary itself if nothing would change."""
    changed = {**summary, **changes}
    return summary if changed == summary else {**changed, "left_out": [*summary["left_out"], name]}


def _no_sources(summary):
    others = {key: value for key, value in summary.items() if key != "sources"}
    return summary if others == summary else {**others, "left_out": [*summary["left_out"], "sources"]}


def _no_nodes(summary):
    return _without(summary, "by_node", by_node=[])


def _no_texts(summary):
    return _without(summary, "warnings.texts", warnings={**summary["warnings"], "texts": []})


def _few_missing(summary):
    """Keeps as many names of the nodes without a record as there is room for."""
    names, fit, too_many = summary["missing"], 0, len(summary["missing"])
    while too_many - fit > 1:
        middle = (fit + too_many) // 2
        if _fits(_no_sources(_without(summary, "missing", missing=names[:middle]))):
            fit = middle
        else:
            too_many = middle
    return _without(summary, "missing", missing=names[:fit])


def _no_extremes(value):
    """Removes least and most from all figures."""
    if isinstance(value, dict):
        return {key: _no_extremes(part) for key, part in value.items() if key not in ("least", "most")}
    return [_no_extremes(part) for part in value] if isinstance(value, list) else value


def _sums_alone(summary):
    return _without(summary, "extremes", **_no_extremes(summary))


def _no_tiers(summary):
    return _without(summary, "tiers", memory={**summary["memory"], "tiers": []}, traffic=[])


_CUTS = (_no_nodes, _no_texts, _few_missing, _sums_alone, _no_tiers)


def _folded(summary):
    return {**summary, "missing": nodenames.fold(summary["missing"])}


def encode(summary):
    """Encodes a summary of merge.summary(), with as much of it as there is room for."""
    for cut in (lambda whole: whole, *_CUTS):
        summary = cut(summary)
        for made in (summary, _no_sources(summary)):
            if _fits(made):
                return pack(_folded(made))
    raise AssertionError(f"{len(pack(_folded(summary)))} characters of summary without any detail")


def _unpack(text):
    try:
        packed = base64.b64decode(text[len(MARK) :].encode("ascii"), validate=True)
        stream = zlib.decompressobj(wbits=31)
        plain = stream.decompress(packed, MOST_JSON)
    except (binascii.Error, UnicodeEncodeError, zlib.error) as error:
        raise Wrong(f"it cannot be unpacked: {error}") from error
    if not stream.eof or stream.unused_data or stream.unconsumed_tail:
        raise Wrong("it is torn, or too large")
    return plain


def decode(text):
    """Decodes a text to a summary. Its `missing` stays one text, as nodenames.fold() makes it. The text may come from
    anybody: memory is limited, and the result has the form of _SUMMARY, with optional keys of _MAYBE; other keys
    at the top, from later versions, are skipped. Raises Wrong."""
    if not text.startswith(MARK) or len(text) > MOST_BYTES:
        raise Wrong(f"it does not begin with {MARK}, or is longer than {MOST_BYTES} characters")
    try:
        summary = fields.parse(_unpack(text))
    except Wrong:
        raise
    except (ValueError, RecursionError) as error:
        raise Wrong(f"it is not JSON: {error}") from error
    if not isinstance(summary, dict) or summary.get("summary") != 1 or isinstance(summary["summary"], bool):
        raise Wrong("it is of another version")
    form = {**_SUMMARY, **{key: part for key, part in _MAYBE.items() if key in summary}}
    summary = {key: value for key, value in summary.items() if key in form}
    _check(summary, form, "")
    return summary


def _check(value, form, place):
    """Checks a value. A form is a predicate, a dict of forms, or a list with one form."""
    if isinstance(form, dict):
        if not isinstance(value, dict) or set(value) != set(form):
            raise Wrong(f"{place or 'it'} is not an object with the expected keys")
        for key, part in form.items():
            _check(value[key], part, f"{place}.{key}")
    elif isinstance(form, list):
        if not isinstance(value, list):
            raise Wrong(f"{place} is no list")
        for part in value:
            _check(part, form[0], place)
    elif not form(value):
        raise Wrong(f"{place} has a wrong value")


def _is_text(value):
    return isinstance(value, str)


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < fields.MAXIMUM


def _is_number(value):
    return fields.number({"": value}, "") is not None


def _or_none(form):
    return lambda value: value is None or form(value)


def _is_extreme(value):
    return isinstance(value, list) and len(value) == 2 and _is_number(value[0]) and _is_text(value[1])


def _is_figure(value):
    """A figure, with or without its extremes, which may have been left out."""
    if value is None:
        return True
    return (
        isinstance(value, dict)
        and set(value) in ({"sum", "nodes"}, {"sum", "nodes", "least", "most"})
        and _is_number(value["sum"])
        and _is_count(value["nodes"])
        and all(_is_extreme(value[key]) for key in ("least", "most") if key in value)
    )


def _is_counted_text(value):
    return isinstance(value, list) and len(value) == 2 and _is_text(value[0]) and _is_count(value[1])


def _is_node(value):
    return (
        isinstance(value, list)
        and len(value) == 3
        and _is_text(value[0])
        and all(isinstance(part, list) and all(map(_or_none(_is_number), part)) for part in value[1:])
    )


_TEXT, _COUNT = _or_none(_is_text), _or_none(_is_count)
_SUMMARY = {
    **dict.fromkeys(("summary", "job_id", "nodes", "reported"), _is_count),
    **dict.fromkeys(("array_job_id", "array_task_id", "het_job_id", "restart_count"), _COUNT),
    **dict.fromkeys(("request", "mode", "policy", "start", "end"), _TEXT),
    "missing": _is_text,
    "elapsed_s": _is_figure,
    "memory": {
        "peak_bytes": _is_figure,
        "tiers": [{"name": _is_text, "kind": _TEXT, "peak_bytes": _is_figure, "mean_bytes": _is_figure}],
    },
    "energy": dict.fromkeys(("package_j", "memory_j"), _is_figure),
    "traffic": [{"name": _is_text, "kind": _TEXT, "read_bytes": _is_figure, "write_bytes": _is_figure}],
    "migration": dict.fromkeys(("promoted_bytes", "demoted_bytes", "cpu_s"), _is_figure),
    "warnings": {"count": _is_count, "nodes": _is_count, "texts": [_is_counted_text]},
    "by_node": [_is_node],
    "left_out": [_is_text],
}
_MAYBE = {
    "job_traffic": dict.fromkeys(("total_bytes", "local_bytes"), _is_figure),
    "migration_more": dict.fromkeys(("kernel_cpu_s",), _is_figure),
    "energy_more": dict.fromkeys(("platform_j", "mean_w", "peak_w"), _is_figure),
    "sources": dict.fromkeys(("memory", "energy", "traffic"), _TEXT),
}
