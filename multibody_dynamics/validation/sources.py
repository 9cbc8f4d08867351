# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The sources of a recording: which messages carry which joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import InputError
from .alignment import Source
from .recordings import JointSamples


def sources_of(
    path: Path, batches: Sequence[JointSamples], places: Mapping[str, int]
) -> tuple[Source, ...]:
    """One source for each topic and set of joints in its messages.

    places : indices of the wanted joints by name. Raises InputError if a message contains one of
    these names twice.
    """
    found: dict[tuple[str, tuple[int, ...]], dict[tuple[str, ...], NDArray[np.intp]]] = {}
    for topic, names in dict.fromkeys((batch.topic, batch.names) for batch in batches):
        column = {places[name]: k for k, name in enumerate(names) if name in places}
        for name in places:
            if names.count(name) > 1:
                raise InputError(f"{path}: {topic}: a message contains joint '{name}' twice")
        if column:
            own = tuple(sorted(column))
            columns = np.array([column[place] for place in own], dtype=np.intp)
            found.setdefault((topic, own), {})[names] = columns
    sources = (
        Source(topic, columns, np.array(own, dtype=np.intp))
        for (topic, own), columns in sorted(found.items(), key=lambda item: item[0])
    )
    return tuple(
        source._replace(stamped=any(b.stamp.any() for b in batches if source.carries(b)))
        for source in sources
    )


def refuse_twice(path: Path, sources: Sequence[Source], names: Mapping[int, str]) -> None:
    """Raise InputError for a joint with several sources. names : names of the joints by index."""
    for place, name in names.items():
        topics = sorted(source.topic for source in sources if place in source.places)
        if len(set(topics)) > 1:
            raise InputError(
                f"{path}: joint '{name}' is on the topics {', '.join(dict.fromkeys(topics))}; they "
                "may belong to two robots, be recorded twice, or be an output of these nodes; "
                "choose one topic with --topic, and the topic of the motors with --motor-topic"
            )
        if len(topics) > 1:
            raise InputError(
                f"{path}: {topics[0]}: joint '{name}' is in messages with different sets of "
                "joints, which must come from two publishers; remove the messages of one"
            )


def unrecorded(source: Source, batches: Sequence[JointSamples], row: int) -> NDArray[np.bool_]:
    """(m,) joints without a number in any message. row : see :meth:`.Source.signal`."""
    known = [np.isfinite(source.signal(b, row)).any(axis=0) for b in batches if source.carries(b)]
    return np.logical_not(np.any(known, axis=0))


def on_one_clock(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Sources for comparison with each other: by stamp if all have stamps, else by receipt."""
    stamped = all(source.stamped for source in sources)
    return tuple(source._replace(stamped=stamped) for source in sources)
