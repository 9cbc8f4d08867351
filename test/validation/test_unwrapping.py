# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Positions recorded modulo one turn become those of the motion, in one piece or in many."""

import numpy as np
import pytest

from multibody_dynamics.validation.unwrapping import unwrapped

TURNING = np.array([True, False, True])
TIMES = np.linspace(0.0, 20.0, 2001)
MOTION = np.stack((3.0 * np.sin(TIMES), 2.0 * TIMES, 0.7 * TIMES - 3.0), axis=1)


def recorded() -> np.ndarray:
    """The first and last joint within -pi ... pi."""
    modulo = np.mod(MOTION + np.pi, 2.0 * np.pi) - np.pi
    return np.where(TURNING, modulo, MOTION)


@pytest.mark.parametrize("size", [1, 7, 2001])
def test_pieces_of_any_size_give_the_motion(size):
    rows, pieces, before = recorded(), [], None
    for k in range(0, len(rows), size):
        pieces.append(unwrapped(rows[k : k + size], TURNING, before))
        before = pieces[-1][-1]
    np.testing.assert_allclose(np.concatenate(pieces), MOTION, atol=1e-12)


def test_nothing_is_overwritten():
    rows = recorded()
    kept = rows.copy()
    assert unwrapped(rows, TURNING) is not rows
    np.testing.assert_array_equal(rows, kept)
    assert unwrapped(rows[:0], TURNING, rows[0]).shape == (0, 3)
