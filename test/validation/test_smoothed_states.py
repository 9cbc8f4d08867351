# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pieces in which samples arrive do not change the smooth states."""

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.validation.alignment import MIDDLE
from multibody_dynamics.validation.smoothed_states import SmoothedStates


@pytest.mark.parametrize("velocity", [False, True])
def test_pieces_give_the_same_states(velocity):
    look = SimpleNamespace(
        rate=200.0, period=5e6, velocity=velocity, background=np.full((3, 2), np.nan), derived=()
    )
    rows = np.random.default_rng(1).normal(size=(900, 3, 2)).cumsum(axis=0)
    keys = MIDDLE + np.arange(900)
    results = []
    for pieces in (1, 9):
        states = SmoothedStates(look, np.arange(2), 5.0, 40.0, (3, 2))
        found = [
            each
            for part in np.array_split(np.arange(900), pieces)
            for each in states.push(keys[part], rows[part])
        ]
        states.flush()
        results.append([np.concatenate([x[k] for x in found], axis=int(k > 0)) for k in range(3)])
    for whole, parts in zip(*results, strict=True):
        assert np.allclose(whole, parts)
    assert results[0][1].shape == (3, len(results[0][0]), 2)
    assert results[0][2].shape[0] == 2
    assert np.diff(results[0][0]) == pytest.approx(0.025)
