# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint states from several topics, paired by their stamps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ...dynamics.core import Array, InputError
from ...validation.alignment import (
    GAP,
    ON_GRID,
    Grid,
    Keys,
    Quality,
    Source,
    aligned,
    on_one_clock,
    require_one_source,
    seconds_of,
    sources_of,
)
from ...validation.recordings import JointSamples
from ...validation.survey import usual_step

ON_TIME = 1e-3  # periods; samples this close to evenly spaced times are used as they are
FEWEST = 4  # samples, as many as determine a cubic polynomial


def at_even_times(t: Array, rows: Array, period: float) -> tuple[Array, Array]:
    """Evenly spaced times from t[0] on, and the rows (k, n) there, by cubic splines; NaN in columns
    that have NaN. Samples that are on time are used as they are."""
    even = t[0] + period * np.arange(int((t[-1] - t[0]) / period + 1e-6) + 1)
    if len(even) == len(t) and np.abs(even - t).max() < ON_TIME * period:
        return even, rows
    found = np.full((len(even), rows.shape[1]), np.nan)
    known = ~np.isnan(rows).any(axis=0)
    if known.any():
        found[:, known] = CubicSpline(t, rows[:, known])(even)
    return even, found


class Paired(NamedTuple):
    """Positions and efforts (k, columns) at the same evenly spaced times t (k,), s after the first.

    t jumps over gaps, and decreases where the clock was set back. Efforts are NaN in columns where
    only zeros were recorded. used : lines that say what was read and how it was paired.
    """

    t: Array
    position: Array
    effort: Array
    used: tuple[str, ...]


def pair(
    path: Path,
    batches: Sequence[JointSamples],
    places: Mapping[str, Mapping[str, int]],
    *,
    held: Mapping[int, float],
    turning: NDArray[np.bool_],
) -> Paired:
    """Pair the samples of all topics at evenly spaced times, with the period of the slowest topic.

    places : columns by topic and name
    held : positions in columns that no topic has
    turning : columns that may be recorded modulo one turn

    Raises InputError naming the recording, topic and joint for duplicate names, and for topics that
    do not overlap in time.
    """
    found = _sources(path, batches, places)
    sources = on_one_clock(found)
    stamps = [_stamps(path, source, batches) for source in sources]
    period = max(usual_step(np.diff(each)) for each in stamps)
    origin = max(int(each[0]) for each in stamps)  # the first time that all topics have

    background = np.full((3, len(turning)), np.nan)
    for place, value in held.items():
        background[0, place] = value
    known = _known_efforts(sources, batches, len(turning))
    qualities = [Quality(source.topic, ()) for source in sources]
    pieces = list(
        aligned(
            _prepared(batches, sources, known, origin),
            sources,
            qualities,
            Grid(0, period, background, turning, velocity=False),
        )
    )
    if not pieces:
        raise InputError(f"{path}: {_no_overlap(sources, stamps, qualities)}")
    keys, rows = (np.concatenate(column) for column in zip(*pieces, strict=True))
    rows[:, 2, ~known] = np.nan
    used = []
    bare = [source.topic for source in found if not source.stamped]
    if 0 < len(bare) < len(found):
        used.append(f"no stamps on {', '.join(bare)}: times of receipt used for all topics")
    for quality, each in zip(qualities, stamps, strict=True):
        used += _summary(quality, (each - origin) / period, 1e9 / usual_step(np.diff(each)))
    clock = "stamps" if sources[0].stamped else "times of receipt"
    used.append(
        f"paired by their {clock}: {len(keys)} samples at {1e9 / period:.5g} Hz; no interpolation "
        f"over more than {GAP} periods"
    )
    return Paired(seconds_of(keys, period), rows[:, 0], rows[:, 2], tuple(used))


def _sources(
    path: Path, batches: Sequence[JointSamples], places: Mapping[str, Mapping[str, int]]
) -> list[Source]:
    """The sources of all columns. Raises InputError for duplicate and for unrecorded joints."""
    sources: list[Source] = []
    for topic, wanted in places.items():
        sources += sources_of(path, [batch for batch in batches if batch.topic == topic], wanted)
    names = {place: name for wanted in places.values() for name, place in wanted.items()}
    require_one_source(path, sources, names)
    for source in sources:
        q = np.concatenate([source.signal(b, 0) for b in batches if source.carries(b)])
        absent = [names[place] for place in source.places[~np.isfinite(q).any(axis=0)].tolist()]
        if absent:
            raise InputError(
                f"{path}: {source.topic}: no position was recorded for {', '.join(absent)}"
            )
    return sources


def _no_overlap(
    sources: Sequence[Source], stamps: Sequence[Keys], qualities: Sequence[Quality]
) -> str:
    """The time spans of topics that do not overlap, and the events on them."""
    spans = (
        f"{source.topic} has {1e-9 * int(each[0]):.6f} to {1e-9 * int(each[-1]):.6f} s"
        for source, each in zip(sources, stamps, strict=True)
    )
    events = [text for quality in qualities for text in quality.events()]
    return "; ".join([f"the topics do not overlap in time: {', '.join(spans)}", *events])


def _summary(quality: Quality, u: Array, rate: float) -> list[str]:
    """How many samples were read, and how they were resampled. u : their times in periods."""
    between = np.abs(np.mod(u + 0.5, 1.0) - 0.5) > ON_GRID
    method = f"{between.mean():.0%} between the common times: interpolated by cubic polynomials"
    return [
        f"{quality.topic}: {quality.messages} messages, {rate:.5g} Hz, "
        f"{method if between.any() else 'all at the common times'}",
        *quality.events(),
    ]


def _stamps(path: Path, source: Source, batches: Sequence[JointSamples]) -> Keys:
    """All distinct stamps in order. Raises InputError if there are too few."""
    found = np.unique(np.concatenate([source.times(b) for b in batches if source.carries(b)]))
    if len(found) < FEWEST:
        raise InputError(f"{path}: {source.topic}: {len(found)} samples; {FEWEST} are required")
    return found


def _known_efforts(
    sources: Sequence[Source], batches: Sequence[JointSamples], count: int
) -> NDArray[np.bool_]:
    """(count,) columns with an effort that is neither NaN nor zero."""
    known = np.zeros(count, dtype=bool)
    for source in sources:
        for batch in filter(source.carries, batches):
            effort = source.signal(batch, 2)
            known[source.places] |= (np.isfinite(effort) & (effort != 0.0)).any(axis=0)
    return known


def _prepared(
    batches: Sequence[JointSamples],
    sources: Sequence[Source],
    known: NDArray[np.bool_],
    origin: int,
) -> Iterator[JointSamples]:
    """Batches with times after the origin, and zeros for efforts that were not recorded: NaN would
    mark the sample as unusable."""
    for batch in batches:
        rows = batch.rows.copy()
        for source in sources:
            if source.carries(batch):
                rows[:, 2, source.columns[batch.names][~known[source.places]]] = 0.0
        stamp, received = batch.stamp - origin, batch.received - origin
        yield replace(batch, stamp=stamp, received=received, rows=rows)
