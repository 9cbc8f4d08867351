# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Faults and missing states of the flatness controller, without ROS messages."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.laws.flatness_settings import ON_LINKS
from multibody_dynamics.nodes.following.faults import (
    DELAY,
    LATE,
    REPEATED,
    STOP_FAILED,
    Fault,
    Faults,
    Reaction,
)

PASSING = Fault("passing", "ends on its own", is_latched=False)
LATCHED = Fault("latched", "needs ~/enable", is_latched=True)
MS = 1_000_000


class Watch:
    """A watch whose staleness the test sets."""

    def __init__(self) -> None:
        self.stale = False
        self.fed = 0

    def age(self) -> float:
        return 0.25

    def feed(self) -> None:
        self.stale = False
        self.fed += 1


def faults(
    motors: bool = True,
    links: bool | None = True,
    *,
    can_stop_on_links: bool = True,
    has_begun: bool = True,
) -> Faults:
    """Faults with states of each side arriving or not; links None: link states are not used."""
    sides = Watch(), None if links is None else Watch()
    found = Faults(*sides, can_stop_on_links=can_stop_on_links)
    found.has_begun = has_begun
    sides[0].stale = not motors
    if sides[1] is not None:
        sides[1].stale = not links
    return found


@pytest.mark.parametrize(
    ("motors", "links", "lacks", "law"),
    [
        (True, True, None, "hold"),
        (True, False, "links", "hold"),
        (False, True, "motors", ON_LINKS),
        (False, False, "links", "hold"),  # silence: no law runs
    ],
)
def test_the_available_states_determine_the_stop(motors, links, lacks, law):
    found = faults(motors, links)
    assert (found.lacks_links, found.lacks_motors) == (lacks == "links", lacks == "motors")
    assert found.stop_law == law
    assert found.runs_on("links") == (lacks == "motors")
    assert found.runs_on("motors") == (lacks == "links")


def test_neither_side_replaces_the_other_before_the_first_cycle():
    for motors, links in ((True, False), (False, True), (False, False)):
        found = faults(motors, links, has_begun=False)
        assert not found.lacks_links
        assert not found.lacks_motors
        assert found.stop_law == "hold"


@pytest.mark.parametrize("found", [faults(False, can_stop_on_links=False), faults(False, None)])
def test_without_a_stop_on_links_missing_motors_mean_silence(found):
    assert not found.lacks_motors
    assert found.motors_missing(has_newer_links=True) is Reaction.SILENCE


def test_links_that_are_not_used_are_never_missing():
    found = faults(links=None, can_stop_on_links=False)
    assert not found.lacks_links
    found.received("motors", is_pair=True)
    assert found.motors.fed == 1
    assert found.has_state(True)
    assert not found.has_state(False)


def test_a_cycle_by_the_timer_needs_a_pair_or_one_side_that_may_run_alone():
    assert faults().has_state(True)
    assert not faults().has_state(False)
    assert faults(links=False).has_state(False)
    assert faults(motors=False).has_state(False)
    assert not faults(motors=False, links=False).has_state(True)
    assert not faults(motors=False, can_stop_on_links=False).has_state(True)


def test_links_count_as_arriving_by_pairs_and_alone_only_without_motors():
    found = faults()
    found.received("links", is_pair=False)
    assert (found.motors.fed, found.links.fed) == (0, 0)
    found.received("motors", is_pair=True)
    assert (found.motors.fed, found.links.fed) == (1, 1)
    found.motors.stale = True
    found.received("links", is_pair=False)
    assert found.links.fed == 2
    found.has_begun = False
    found.received("links", is_pair=False)
    assert found.links.fed == 2


def test_reactions_to_missing_link_states():
    assert faults(links=False).links_missing("state_feedback") is Reaction.STOP
    assert faults(links=False, has_begun=False).links_missing("hold") is Reaction.WAIT
    both = faults(motors=False, links=False)
    assert both.links_missing(ON_LINKS) is Reaction.SILENCE
    assert both.links_missing("hold") is Reaction.NONE  # the watch of the motors reports it
    assert str(faults(links=False).no_links()) == (
        "link states missing: no joint_states matching motor_states for 0.250 s"
    )


def test_reactions_to_missing_motor_states():
    assert faults(motors=False).motors_missing(False) is Reaction.STOP
    assert faults(motors=False, has_begun=False).motors_missing(True) is Reaction.WAIT
    assert faults(motors=False, links=False).motors_missing(False) is Reaction.SILENCE
    newer = faults(motors=False, links=False)  # stale as pairs, but they arrive
    assert newer.motors_missing(True) is Reaction.STOP
    assert newer.stop_law == ON_LINKS
    assert str(newer.no_motors()) == "motor states missing: no motor_states for 0.250 s"


def test_a_different_fault_replaces_the_present_one_unless_only_that_is_latched():
    found = faults()
    assert found.take(PASSING)
    assert not found.take(PASSING._replace(text="again"))
    assert found.take(LATCHED)
    assert not found.take(PASSING)
    assert found.fault == LATCHED
    other = LATCHED._replace(reason="other")
    assert found.take(other)
    assert found.end() == other
    assert found.fault is None


def is_over(found: Faults, *, is_settled: bool = True, speed: float = 0.0) -> bool:
    return found.is_over(is_settled=is_settled, speed=speed, recovery_speed=0.1)


def test_a_fault_clears_once_all_states_are_back_and_settled_and_the_arm_is_at_rest():
    found = faults()
    assert not is_over(found)  # no fault
    found.take(PASSING)
    assert is_over(found)
    assert is_over(found, speed=0.1)
    assert not is_over(found, speed=0.2)
    assert not is_over(found, is_settled=False)
    for side in (found.links, found.motors):
        side.stale = True
        assert not is_over(found)
        side.stale = False
    found.take(LATCHED)
    assert not is_over(found)


def test_enable_cannot_clear_a_fault_while_states_are_missing():
    found = faults(links=False)
    assert not found.is_enable_refused  # no fault
    found.take(LATCHED)
    assert found.is_enable_refused
    found.links.stale = False
    assert not found.is_enable_refused
    found.motors.stale = True
    assert found.is_enable_refused


def test_torques_are_too_late_when_none_was_on_time_for_a_tenth_of_a_second():
    found, start = faults(), 10_000 * MS
    found.follow_punctually_from(start)

    def late(stamp: int, delay: float, allowed: float = 0.005) -> Fault | None:
        return found.late(start + stamp, start + stamp + round(1e9 * delay), allowed)

    assert LATE == 100 * MS
    for stamp in range(0, 101 * MS, 2 * MS):
        assert late(stamp, 0.006) is None
    assert late(102 * MS, 0.005) is None  # one in time
    assert late(202 * MS, 0.006) is None
    fault = late(203 * MS, 0.006)
    assert fault is not None
    assert (fault.reason, fault.is_latched) == (DELAY, True)
    assert fault.text == (
        "6 ms after their states, and none on time for 0.1 s; allowed: 5 ms (latency_tolerance)"
    )
    assert late(204 * MS, 0.006) is None  # counted anew
    assert late(999 * MS, 9.0, allowed=0.0) is None


def test_tracking_errors_name_the_joint():
    error, names = np.array([0.1, -0.31]), ("shoulder", "elbow")
    fault = Fault.tracking(error, names, 0.3)
    assert fault is not None
    assert fault.is_latched
    assert str(fault) == (
        "tracking error: 'elbow' is 0.31 from the reference; allowed: 0.3 (tracking_tolerance)"
    )
    assert Fault.tracking(error, names, 0.31) is None
    assert Fault.tracking(error, names, 0.0) is None


def test_which_faults_only_enable_clears():
    assert Fault.not_finite("no solution").is_latched
    assert not Fault.lost("a sample was rejected").is_latched


def test_nothing_replaces_a_final_fault_and_nothing_is_sent_until_it_is_cleared():
    found = faults()
    found.take(LATCHED)
    assert not found.is_silent
    failed = Fault.stop_failed("'elbow' still moves")
    assert (failed.reason, failed.is_latched, failed.is_final) == (STOP_FAILED, True, True)
    assert found.take(failed)
    assert found.is_silent
    for other in (LATCHED, PASSING, Fault.not_finite("no solution")):
        assert not found.take(other)
    assert not is_over(found)
    assert found.end() == failed
    assert not found.is_silent


def test_a_failed_design_names_the_position_and_is_final():
    fault = Fault.no_design(np.array([0.5, -2.0]), ("shoulder", "elbow"), "'elbow' is overloaded")
    assert fault.is_final
    assert str(fault) == (
        "no stable gains: 'elbow' is overloaded; measured position: shoulder 0.5, elbow -2."
        " Move the arm or set design_position"
    )


def test_following_resumes_automatically_only_so_often_within_a_window():
    second = 1000 * MS
    found = faults()

    def resume(at: float, limit: int = 3) -> Fault | None:
        return found.resume(round(at * second), "link states missing", limit=limit, window=10.0)

    assert [resume(t) for t in (1.0, 4.0, 8.0)] == [None] * 3
    fault = resume(9.0)
    assert fault is not None
    assert (fault.reason, fault.is_latched, fault.is_final) == (REPEATED, True, False)
    assert fault.text == (
        "interrupted 4 times within 10 s (recovery_limit, recovery_window), the last time by link"
        " states missing"
    )
    assert resume(11.5) is None  # the first one has left the window
    assert resume(11.6) is not None
    assert resume(11.6, limit=0) is None  # no limit
    found.forgive()
    assert resume(11.7) is None
    assert resume(0.5) is None  # stamps jumped back: later ones do not count


def test_a_late_torque_is_remembered_for_a_tenth_of_a_second():
    found, start = faults(), 10_000 * MS
    found.follow_punctually_from(start)
    assert not found.was_late(start)
    found.late(start, start + MS, 0.005)
    assert not found.was_late(start)
    found.late(start + MS, start + 9 * MS, 0.005)
    assert found.was_late(start + 101 * MS)
    assert not found.was_late(start + 102 * MS)
    found.late(start + 200 * MS, start + 900 * MS, 0.0)  # no tolerance is set
    assert not found.was_late(start + 201 * MS)


def test_a_collision_is_answered_by_its_own_law_until_it_may_no_longer_yield():
    made = faults()
    made.has_begun = True
    assert made.take(Fault.collision("hit", "impedance"))
    assert made.yields
    assert made.stop_law == "impedance"
    made.stop_yielding()
    assert not made.yields
    assert made.stop_law == "hold"
    assert made.fault is not None
    assert made.fault.is_latched
