# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Changes are found at the stated rate of false alarms, and their cause is named."""

import numpy as np
import pytest

from multibody_dynamics.validation.drift_causes import all_causes, changes
from multibody_dynamics.validation.drift_statistics import DriftSums, Layout, Noise
from residual_samples import N, samples

SEGMENTS = 120


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(5)
    segments = [samples(rng, k=60) for _ in range(SEGMENTS)]
    return sum(segments[1:], segments[0]), Noise.learned(segments)


def block(rng, change=None, count=10):
    segments = [samples(rng, k=60, change=change) for _ in range(count)]
    return sum(segments[1:], segments[0])


def test_rate_of_false_alarms(reference):
    """200 blocks without a change, at a level of 5 % for all causes together."""
    rng = np.random.default_rng(6)
    found = [changes(reference[0], block(rng), reference[1], 0.05) for _ in range(200)]
    alarms = sum(1 for each in found if each)
    assert alarms <= 15  # 10 at the nominal rate; some noise is overestimated


@pytest.mark.parametrize("k", range(len(all_causes(N))))
def test_every_cause_is_named(reference, k):
    rng = np.random.default_rng(7)
    cause = all_causes(N)[k]
    change = np.zeros(Layout(N).size)
    change[cause.unknowns] = 0.2
    (found,) = changes(reference[0], block(rng, change), reference[1], 1e-6)
    assert (found.cause.kind, found.cause.joint) == (cause.kind, cause.joint)
    assert found.known.all()
    assert np.all(np.abs(found.value - 0.2) < 5.0 * found.error)


def test_two_causes_at_once(reference):
    rng = np.random.default_rng(8)
    layout = Layout(N)
    change = np.zeros(layout.size)
    change[0], change[layout.joint(2)[0]], change[layout.spring(1)[0]] = 0.3, 0.2, -0.1
    found = changes(reference[0], block(rng, change), reference[1], 1e-6)
    assert {(each.cause.kind, each.cause.joint) for each in found} == {
        ("payload", -1),
        ("friction", 2),
        ("spring", 1),
    }
    for each in found:
        wanted = change[each.cause.unknowns]
        assert np.all(np.abs(each.value - wanted) < 5.0 * each.error)


def test_directions_that_the_motion_does_not_determine():
    """Mass and a component of the first moment have one effect: only their sum is known."""
    rng = np.random.default_rng(9)

    def alike(change=0.0, k=60):
        A = rng.normal(size=(k, N, 7))
        A[..., 1], A[..., 2] = A[..., 0], 0.0
        error = 0.1 * rng.normal(size=(k, N)) + change * A[..., 0]
        return DriftSums.of_torques(A, error, np.ones((k, N), dtype=bool), 1.0)

    segments = [alike() for _ in range(60)]
    before = sum(segments[1:], segments[0])
    (found,) = changes(before, alike(0.4, 600), Noise.learned(segments), 1e-6)
    assert found.cause.kind == "payload"
    assert found.known.tolist() == [False, False, False, True]
    assert found.value[0] + found.value[1] == pytest.approx(0.4, abs=0.02)


def test_nothing_in_common():
    """A joint that did not move in one of the periods is not judged."""
    rng = np.random.default_rng(10)
    segments = [samples(rng, k=60) for _ in range(40)]
    noise = Noise.learned(segments)
    assert changes(segments[0], DriftSums.none(N), noise, 1.0) == []
