# SPDX-License-Identifier: Apache-2.0
"""Makes the page of `hybridmem sites show --html`: which share of a program's accesses the hottest bytes of its sites
have, by how many bytes these are, and a table of the sites. What the profile has is escaped, by page.tag(). Pure."""

from . import charts, draw, page

STEPS = 64  # columns of the curve
SHARES = (0.1, 0.25, 0.5)  # of the sites' bytes, whose accesses are said
SLICED = 6  # sites whose slices are drawn
HEADS = (
    ("Site", page.NAME),
    ("Where", page.PROSE),
    ("Allocations", page.NUMBER),
    ("Peak", page.NUMBER),
    ("Resident", page.NUMBER),
    ("Mean", page.NUMBER),
    ("Lifetime", page.NUMBER),
    ("Accesses", page.NUMBER),
    ("95 % sure", page.NUMBER),
)


def room(site):
    """The bytes that a site needs room for in a tier, as hm_profile_room of sites/profile/profile.h has them."""
    slices = site["resident"] and site["resident"]["slices"]
    return -(-site["peak_bytes"] * len(slices) // 32) if slices else site["peak_bytes"]


def all_accesses(profile):
    """Those of the whole program, or None if they are not known."""
    elsewhere = profile["sampling"]["elsewhere"]
    if elsewhere is None:
        return None
    return elsewhere + sum(site["accesses"] or 0 for site in profile["sites"]) or None


def curve(sites, accesses):
    """The points (bytes of room, share of the accesses) that the hottest sites have, each used evenly."""
    used = [site for site in sites if site["accesses"] and room(site)]
    points = [(0, 0.0)]
    for site in sorted(used, key=lambda site: -site["accesses"] / room(site)):
        size, share = points[-1]
        points.append((size + room(site), share + site["accesses"] / accesses))
    return points


def share_at(points, size):
    """The share at a number of bytes, on straight lines between the points."""
    for (low, before), (high, after) in zip(points, points[1:]):
        if size <= high:
            return before + (after - before) * (size - low) / (high - low)
    return points[-1][1]


def cells(site, where, accesses):
    share = site["accesses"] / accesses if accesses and site["accesses"] is not None else None
    bounds = site["confidence"]
    lifetime = site["lifetime_s"]
    resident = site["resident"]
    return (
        (site["id"], site["id"]),
        (where, where),
        (site["allocations"], draw.count(site["allocations"])),
        (site["peak_bytes"], draw.size(site["peak_bytes"])),
        (resident and resident["peak_bytes"], draw.size(resident["peak_bytes"]) if resident else ""),
        (site["mean_bytes"], draw.size(site["mean_bytes"])),
        (lifetime, "" if lifetime is None else draw.duration(lifetime)),
        (share, "" if share is None else f"{100 * share:.1f} %"),
        (
            bounds["low"] if bounds else None,
            f"{100 * bounds['low']:.1f} to {100 * bounds['high']:.1f} %" if bounds else "",
        ),
    )


def curve_section(profile, accesses):
    if not accesses:
        why = profile["sampling"]["why"] or "no sample was taken"
        return page.section("curve", "Accesses by capacity", page.sentences([f"accesses are not known: {why}"]))
    points = curve(profile["sites"], accesses)
    total = sum(room(site) for site in profile["sites"]) or 1
    sizes = [total * (step + 1) / STEPS for step in range(STEPS)]
    said = [
        f"{draw.size(total * part)} of fast memory, {100 * part:g} % of the sites' peaks, can serve "
        f"{100 * share_at(points, total * part):.1f} % of the accesses"
        for part in SHARES
    ]
    chart = charts.stacked(
        "Share of the accesses that the hottest bytes of the sites have, by how many these are",
        ["accesses"],
        [(draw.size(size), (share_at(points, size),)) for size in sizes],
        lambda share: f"{100 * share:.1f} %",
        ("0", draw.size(total)),
    )
    about = (
        "The sites with the most accesses per byte come first, each with its peak; slices that were never touched"
        " do not count."
    )
    return page.section("curve", "Accesses by capacity", chart, page.sentences(said), about=about)


def slice_names(slices):
    """Where each slice is, in words."""
    count, step = len(slices["accesses"]), slices["step_bytes"]
    if step is None:
        return [f"{100 * at / count:.0f} to {100 * (at + 1) / count:.0f} % of each allocation" for at in range(count)]
    ends = [min(step * (at + 1), slices["extent_bytes"]) for at in range(count)]
    return [f"{draw.size(step * at)} to {draw.size(end)}" for at, end in enumerate(ends)]


def slices_chart(site, where):
    slices = site["slices"]
    total = sum(slices["accesses"])
    is_ordered = slices["step_bytes"] is not None
    ends = ("made first", "made last") if is_ordered else ("start", "end of each allocation")
    return charts.stacked(
        f"{site['id']}, {where}",
        ["of its accesses"],
        [(name, (count / total,)) for name, count in zip(slice_names(slices), slices["accesses"])],
        lambda share: f"{100 * share:.1f} %",
        ends,
    )


def slices_section(order):
    """Where in the memory of the most used sites their accesses are."""
    known = [(site, where) for site, where in order if site["slices"] and sum(site["slices"]["accesses"]) > 0]
    if not known:
        return ""
    about = (
        "Where in the memory of the most used sites the sampled accesses are. Small allocations stand in the order in"
        " which a process makes them."
    )
    drawn = [slices_chart(site, where) for site, where in known[:SLICED]]
    return page.section("slices", "Slices", *drawn, about=about)


def make(figures):
    profile, where = figures["profile"], figures["where"]
    accesses = all_accesses(profile)
    order = sorted(zip(profile["sites"], where), key=lambda pair: -(pair[0]["accesses"] or 0))
    table = page.table("Allocation sites", HEADS, [cells(site, words, accesses) for site, words in order])
    about = f"{profile['program']['command']}, {profile['start']}, {draw.duration(profile['elapsed_s'])}"
    if profile["program"]["input_class"]:
        about += f", input {profile['program']['input_class']}"
    return page.document(
        "Allocation sites",
        about,
        page.tiles(
            [
                ("Sites", draw.count(len(order))),
                ("At their peak", draw.size(profile["peak_bytes"])),
                (
                    "Samples",
                    "none" if profile["sampling"]["samples"] is None else f"{profile['sampling']['samples']:.0f}",
                ),
                ("Source", profile["sampling"]["source"] or "none"),
            ]
        ),
        curve_section(profile, accesses),
        slices_section(order),
        page.section("sites", "Sites", table),
    )
