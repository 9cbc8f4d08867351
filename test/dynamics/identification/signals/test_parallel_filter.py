"""Filtering in pieces equals filtering at once, and keeps equations true."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification import ZeroPhaseFilter
from multibody_dynamics.dynamics.identification.signals.parallel_filter import (
    CHUNK,
    LONGEST,
    ParallelFilter,
)


def test_pieces_equal_the_filter_of_the_whole():
    rows = np.random.default_rng(1).normal(size=(3 * CHUNK + 77, 2, 3))
    filtered = ParallelFilter(250.0, 5.0)
    stretch = slice(30, len(rows) - 5)
    (block,) = filtered.blocks(lambda part: rows[part], stretch)
    whole = ZeroPhaseFilter(250.0, 5.0, 1)(rows[stretch].reshape(-1, 6), step=filtered.step)[0]
    assert np.allclose(block.reshape(-1, 6), whole, atol=1e-12)
    assert len(block) == filtered.count(stretch)


def test_blocks_are_bounded_and_complete():
    rows = np.arange(2.0 * LONGEST + 100)[:, None]
    filtered = ParallelFilter(1.0, None)
    blocks = list(filtered.blocks(lambda part: rows[part], slice(0, len(rows))))
    assert [len(each) for each in blocks] == [2764, 2764, 2764]
    assert filtered.longest([len(rows), 0]) == 2764
    assert np.array_equal(np.concatenate(blocks), rows)
    assert not list(ParallelFilter(100.0, 5.0).blocks(lambda part: rows[part], slice(0, 50)))


def test_coulomb_friction_remains_unbiased_after_the_filter():
    # With the sign of the velocity not filtered, the same fit is off by more than a percent.
    rate, t = 500.0, np.arange(0.0, 30.0, 0.002)
    v = np.stack([np.sin(3 * t) + 0.5 * np.sin(7 * t), np.cos(2.0 * t)], axis=1)
    qdd = np.gradient(v, t, axis=0)
    q = np.cumsum(v, axis=0) / rate
    model = dyn.load_urdf("config/robots/planar_two_link.urdf")
    friction = dyn.identification.JointFriction.smooth_coulomb([0.4, 0.2], [0.8, 0.5], [0.1, 0.2])
    torque = dyn.inverse_dynamics(model, q, v, qdd).tau + friction.torque(v)
    found = dyn.identification.identify_parameters(
        model, q, v, qdd, torque, rate=rate, cutoff=3.0, starts=[0, 7000]
    )
    assert found.friction.amplitude / 2 == pytest.approx([0.8, 0.5], rel=1e-6)
    assert found.friction.viscous == pytest.approx([0.4, 0.2], rel=1e-6)
    reach = ParallelFilter(rate, 3.0).reach
    (smooth,) = ZeroPhaseFilter(rate, 3.0, 1)(torque)
    inner = slice(reach, -reach)
    plain = dyn.identification.identify_parameters(
        model, q[inner], v[inner], qdd[inner], smooth, rate=rate
    )
    assert abs(plain.friction.amplitude[0] / 2 / 0.8 - 1.0) > 0.01
