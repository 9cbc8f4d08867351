# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Days of work: no alarm without a fault, and the right one with it."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from drifting_arm import Arm, robot
from multibody_dynamics.dynamics.elastic import LinearSpring
from multibody_dynamics.validation.drift_watch import DriftSettings, DriftWatch
from multibody_dynamics.validation.settings import Settings
from rejections import assert_rejected

COMPARISON = Settings(Path(), cutoff=5.0)
SETTINGS = DriftSettings(segment=2.0, block=30.0, reference=60.0, warm_up_time=120.0)


def watch(settings=SETTINGS):
    return DriftWatch(robot(), settings, 1, COMPARISON)


def work(watch, arm, seconds):
    """The drifts of every block that is judged during so many seconds of motion."""
    found = []
    for _ in range(round(seconds / 2.0)):
        if watch.add(*arm.move(2.0)):
            found.append(watch.drifts)
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A watch with a reference at the highest level of warmth, in a file, and its arm."""
    own, arm = watch(replace(SETTINGS, warm_up_time=1.0)), Arm(np.random.default_rng(1))
    assert work(own, arm, 130.0) == [(), ()]
    file = tmp_path_factory.mktemp("memory") / "drift.npz"
    own.save(file)
    return file, arm


def continued(file):
    own = watch(replace(SETTINGS, warm_up_time=1.0))
    own.load(file)
    return own


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"payload": 1.0}, "payload of forearm changed by +"),
        ({"friction": np.array([1.0, 1.5])}, "friction of elbow: viscous +5"),
        ({"stiffness": np.array([0.8, 1.0])}, "spring of shoulder: stiffness -20.0"),
    ],
)
def test_faults_and_their_end(trained, fault, text):
    file, arm = trained
    own = continued(file)
    faulty = arm.after(rng=np.random.default_rng(2), **fault)
    found = work(own, faulty, 62.0)
    assert [len(each) for each in found] == [1, 1]
    assert found[-1][0].text.startswith(text)
    healthy = arm.after(rng=np.random.default_rng(3), stamp=faulty.stamp)
    assert work(own, healthy, 62.0)[-1] == ()


def test_changes_that_do_not_matter(trained):
    """The changes are significant, but smaller than the settings require for a report."""
    file, arm = trained
    own = continued(file)
    small = arm.after(rng=np.random.default_rng(4), payload=0.1, friction=np.array([1.1, 1.0]))
    assert work(own, small, 62.0) == [(), ()]


def test_heat_is_not_drift():
    """Every morning, friction begins 40 % higher and falls in minutes; the fault is still found."""
    own, arm = watch(), Arm(np.random.default_rng(5), heat=0.4, thermal_time=100.0)
    alarms = []
    for _ in range(4):
        alarms += work(own, arm, 220.0)
        arm.pause(1500.0)
    assert len(alarms) > 10
    assert not any(alarms)
    faulty = arm.after(friction=np.array([1.0, 1.5]))
    last = work(own, faulty, 220.0)[-1]
    assert [(each.kind, each.name) for each in last] == [("friction", "elbow")]


def test_without_warmth_heat_would_be_drift():
    own = watch(replace(SETTINGS, warm_up_time=0.1))
    arm = Arm(np.random.default_rng(6), heat=0.6, thermal_time=100.0)
    found = work(own, arm, 240.0)
    assert {each.kind for each in found[-1]} == {"friction"}


def test_slow_drift_is_found_over_a_day(trained):
    """A change that is lost in the noise of one block shows in the sum of many."""
    file, arm = trained
    own = continued(file)
    own._settings = replace(own._settings, least_friction=0.0, least_payload=0.0)
    slow = arm.after(rng=np.random.default_rng(7), payload=0.006)
    found = work(own, slow, 360.0)
    assert found[-1]
    assert found[-1][0].kind == "payload"


def test_memory_is_bounded_and_complete(tmp_path):
    settings = replace(SETTINGS, warm_up_time=1.0, remembered_days=0.5)
    own, arm = watch(settings), Arm(np.random.default_rng(8))
    work(own, arm, 70.0)
    sizes = []
    for _ in range(24):
        arm.pause(3600.0)
        work(own, arm, 32.0)
        own.save(tmp_path / "drift.npz")
        sizes.append((tmp_path / "drift.npz").stat().st_size)
    assert sizes[-1] <= max(sizes[13:19]) * 1.01
    again = watch(settings)
    again.load(tmp_path / "drift.npz")
    assert (again.warmth, again.stamp, again.judged) == (own.warmth, own.stamp, own.judged)
    assert again.progress() == own.progress()
    state = arm.rng.bit_generator.state
    first = [each for each in work(own, arm, 62.0)]
    arm.rng.bit_generator.state = state
    arm.stamp = again.stamp
    assert work(again, arm, 62.0) == first


def test_memory_of_something_else(trained, tmp_path):
    file, _ = trained
    broken, empty, single = tmp_path / "broken.npz", BytesIO(), BytesIO()
    np.savez(empty, facts=np.array("{}"))
    np.save(single, np.zeros(3))

    def of(content):
        broken.write_bytes(content)
        watch().load(broken)

    assert_rejected(
        (lambda: watch(replace(SETTINGS, segment=1.0)).load(file), "another robot, springs"),
        (lambda: watch().load(tmp_path / "absent.npz"), "cannot be read: No such file"),
        (lambda: of(file.read_bytes()[:1000]), "not a NumPy archive"),
        (lambda: of(b""), "not a NumPy archive"),
        (lambda: of(empty.getvalue()), "not a memory of drift_node: is missing"),
        (lambda: of(single.getvalue()), "not a NumPy archive"),
    )


def softer(known):
    first, *others = known.actuators.actuators
    first = replace(first, spring=LinearSpring(499.0))
    return replace(known, actuators=replace(known.actuators, actuators=(first, *others)))


@pytest.mark.parametrize(
    ("changed", "how"),
    [
        (lambda known: replace(known, model=known.model.with_gravity([0.0, 9.81, 0.0])), {}),
        (softer, {}),
        (lambda known: replace(known, actuators=None), {}),
        (lambda known: replace(known, friction=replace(known.friction, offset=[0.1, 0.0])), {}),
        (lambda known: known, {"cutoff": 6.0}),
        (lambda known: known, {"from_positions": True}),
        (lambda known: known, {"held": {"finger": 0.01}}),
    ],
)
def test_a_memory_is_not_continued_after_a_change_of_what_it_depends_on(trained, changed, how):
    file, _ = trained
    settings = replace(SETTINGS, warm_up_time=1.0)
    DriftWatch(robot(), settings, 1, COMPARISON).load(file)  # made anew, the same
    other = DriftWatch(changed(robot()), settings, 1, replace(COMPARISON, **how))
    assert_rejected((lambda: other.load(file), "belongs to another"))


def test_settings_that_contradict_each_other():
    assert_rejected(
        (lambda: DriftSettings(reference=100.0), "must contain at least 30 segments of 10 s"),
        (lambda: DriftSettings(block=1.0), "must not be shorter than a segment"),
    )
