"""Joint states that were recorded on several topics, put together by their stamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from ..validation.alignment import GAP, ON_GRID, Keys, Quality, Source, aligned, seconds_of
from ..validation.bags import JointSamples
from ..validation.survey import usual_step

FEWEST = 4  # samples, that a cubic polynomial goes through


class Paired(NamedTuple):
    """Positions and efforts (k, places) at the same even times t (k,) s after the first.

    t jumps over gaps, and falls where the clock was set back. Efforts are NaN where none but zeros
    were recorded. used : what was read and what was done with it, in lines.
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
    """Samples of all topics at once, on even times with the period of the slowest topic.

    places : of each topic, the columns for the names that are wanted. held : the positions in
    columns that no topic has. turning : columns that may be recorded within one turn.
    Raises InputError that names the recording, topic and joint for a name that is there twice, and
    for topics that have no time in common.
    """
    sources = [source for topic in places for source in _sources(path, batches, topic, places)]
    _refuse_twice(path, sources, places)
    used = []
    if len({source.stamped for source in sources}) > 1:
        bare = ", ".join(source.topic for source in sources if not source.stamped)
        sources = [source._replace(stamped=False) for source in sources]
        used.append(f"no stamps on {bare}: times of receipt taken on all topics")
    stamps = [_stamps(source, batches) for source in sources]
    for source, each in zip(sources, stamps, strict=True):
        if len(each) < FEWEST:
            raise InputError(f"{path}: {source.topic}: {len(each)} samples; must be {FEWEST}")
    periods = [usual_step(np.diff(each)) for each in stamps]
    period = max(periods)
    origin = max(int(each[0]) for each in stamps)  # the first time that all have

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
            origin=0,
            period=period,
            background=background,
            turning=turning,
            velocity=False,
            failed=_raise,
        )
    )
    if not pieces:
        spans = (
            f"{source.topic} has {1e-9 * int(each[0]):.6f} to {1e-9 * int(each[-1]):.6f} s"
            for source, each in zip(sources, stamps, strict=True)
        )
        raise InputError(f"{path}: no time is in all: {', '.join(spans)}")
    keys, rows = (np.concatenate(column) for column in zip(*pieces, strict=True))
    rows[:, 2, ~known] = np.nan

    for source, quality, each, own in zip(sources, qualities, stamps, periods, strict=True):
        between = np.abs(np.mod((each - origin) / period + 0.5, 1.0) - 0.5) > ON_GRID
        method = f"{between.mean():.0%} between them: interpolated by cubic polynomials"
        used.append(
            f"{source.topic}: {quality.messages} messages, {1e9 / own:.5g} Hz, "
            f"{method if between.any() else 'all at the even times'}"
        )
        used += quality.events()
    clock = "stamps" if all(source.stamped for source in sources) else "times of receipt"
    used.append(
        f"paired by their {clock}: {len(keys)} samples at {1e9 / period:.5g} Hz; nothing is "
        f"interpolated over more than {GAP} periods"
    )
    return Paired(seconds_of(keys, period), rows[:, 0], rows[:, 2], tuple(used))


def _sources(
    path: Path,
    batches: Sequence[JointSamples],
    topic: str,
    places: Mapping[str, Mapping[str, int]],
) -> list[Source]:
    """One for each set of joints that the messages of the topic carry."""
    wanted = places[topic]
    found: dict[tuple[int, ...], dict[tuple[str, ...], NDArray[np.intp]]] = {}
    stamped = False
    for batch in batches:
        if batch.topic != topic:
            continue
        stamped = stamped or bool(batch.stamp.any())
        column = {wanted[name]: k for k, name in enumerate(batch.names) if name in wanted}
        for name in wanted:
            if batch.names.count(name) > 1:
                raise InputError(f"{path}: {topic}: a message names '{name}' twice")
        if column:
            own = tuple(sorted(column))
            columns = np.array([column[place] for place in own], dtype=np.intp)
            found.setdefault(own, {})[batch.names] = columns
    return [
        Source(topic, columns, np.array(own, dtype=np.intp), stamped)
        for own, columns in found.items()
    ]


def _refuse_twice(
    path: Path, sources: Sequence[Source], places: Mapping[str, Mapping[str, int]]
) -> None:
    publisher: dict[int, str] = {}
    for source in sources:
        for place in source.places.tolist():
            if place in publisher:
                name = next(n for n, own in places[source.topic].items() if own == place)
                raise InputError(
                    f"{path}: joint '{name}' comes from two publishers, on {publisher[place]} and "
                    f"on {source.topic}; one of them must go"
                )
            publisher[place] = source.topic


def _carried(source: Source, batches: Iterable[JointSamples]) -> Iterator[JointSamples]:
    return (b for b in batches if b.topic == source.topic and b.names in source.columns)


def _stamps(source: Source, batches: Sequence[JointSamples]) -> Keys:
    """All, each once, in order."""
    own = _carried(source, batches)
    return np.unique(np.concatenate([b.stamp if source.stamped else b.received for b in own]))


def _known_efforts(
    sources: Sequence[Source], batches: Sequence[JointSamples], count: int
) -> NDArray[np.bool_]:
    """(count,) columns with some effort that is a number and not zero."""
    known = np.zeros(count, dtype=bool)
    for source in sources:
        for batch in _carried(source, batches):
            effort = batch.rows[:, 2, source.columns[batch.names]]
            known[source.places] |= (np.isfinite(effort) & (effort != 0.0)).any(axis=0)
    return known


def _prepared(
    batches: Sequence[JointSamples],
    sources: Sequence[Source],
    known: NDArray[np.bool_],
    origin: int,
) -> Iterator[JointSamples]:
    """Times after the origin, and zeros for efforts that nobody recorded: NaN would be taken for a
    sample that cannot be used."""
    for batch in batches:
        rows = batch.rows.copy()
        for source in sources:
            if batch.topic == source.topic and batch.names in source.columns:
                rows[:, 2, source.columns[batch.names][~known[source.places]]] = 0.0
        stamp, received = batch.stamp - origin, batch.received - origin
        yield replace(batch, stamp=stamp, received=received, rows=rows)


def _raise(error: Exception) -> None:
    raise error
