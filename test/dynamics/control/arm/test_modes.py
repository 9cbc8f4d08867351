# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Modes and faults: what the table promises, whatever a cycle finds."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mode_examples import RULES, STILL, found, moving
from multibody_dynamics.dynamics.control.arm import modes
from multibody_dynamics.dynamics.control.arm.modes import (
    CONTACT,
    FAULTS,
    FINAL,
    HOLDING,
    LATCHED,
    LATE,
    LOST,
    NO_LINKS,
    NO_MOTORS,
    NONE,
    PASSING,
    REPEATED,
    SETTLING,
    STOP_FAILED,
    STOPPING,
    TIME,
    TRACKING,
    YIELDING,
    Mode,
)

PERIOD = 0.004  # s


class Machine:
    """An arm with two joints that has been activated at rest."""

    def __init__(self, **changes) -> None:
        self.rules, self.memory, self.now = RULES._replace(**changes), modes.memory(2, 2), 0.0
        modes.activate(self.rules, self.memory, self.now, STILL, STILL, 1)

    def cycle(self, count: int = 1, **changes) -> int:
        """So many cycles that find this; the mode after them."""
        for _ in range(count):
            self.now += PERIOD
            modes.supervise(self.rules, self.memory, self.now, found(**changes))
        return self.mode

    def moving(self, *speed: float, **changes) -> int:
        return self.cycle(**moving(*speed, **changes)._asdict())

    @property
    def mode(self) -> int:
        return int(self.memory.mode[0])

    @property
    def fault(self) -> int:
        return int(self.memory.fault[0])


def test_the_table_lists_each_fault_once_in_the_order_of_the_codes():
    assert [fault.code for fault in FAULTS] == list(range(len(FAULTS)))
    assert len({fault.text for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS[1:]:
        assert fault.within
        assert fault.mode in (Mode.STOPPING, Mode.YIELDING, Mode.LOST)
        assert (fault.ends == FINAL) == (fault.mode is Mode.LOST)


@pytest.mark.parametrize(
    "why", ["at rest", "briefly", "moves", "oscillates", "wrench", "tracking error"]
)
def test_only_an_arm_at_rest_keeps_the_mean_torque_that_has_held_it(why):
    machine, sent = Machine(), np.array([20.0, -3.0])
    for k in range(round(0.9 * modes.AT_REST / PERIOD) if why == "briefly" else 300):
        machine.cycle(sent=sent + (-1) ** k)
    if why == "oscillates":
        machine.moving(0.0, 0.2, sent=sent)
    elif why == "moves":
        machine.cycle(100, sent=sent, qd=np.array([0.11, 0.0]))
    elif why == "wrench":
        machine.cycle(has_wrench=1, sent=sent)
    elif why == "tracking error":
        machine.cycle(error=np.array([0.3, 0.0]), sent=sent)
    machine.cycle(lacks_motors=1, lacks_links=1, sent=0.0 * sent)
    assert machine.mode == LOST
    assert modes.keeps_torque(machine.memory) == (why == "at rest")
    if why == "at rest":
        np.testing.assert_allclose(machine.memory.held, sent, atol=0.1)


@pytest.mark.parametrize(("speed", "mode"), [(0.05, HOLDING), (0.2, STOPPING)])
def test_an_arm_that_moves_at_activation_is_stopped_first(speed, mode):
    machine = Machine()
    modes.activate(machine.rules, machine.memory, 0.0, STILL, np.full(2, speed), 1)
    assert machine.mode == mode
    assert machine.fault == (NONE if mode == HOLDING else SETTLING)
    assert machine.cycle() == HOLDING


def test_an_arm_is_stopped_once_it_is_known_to_have_moved_at_activation():
    machine = Machine()
    moving = np.full(2, 0.2)
    modes.activate(machine.rules, machine.memory, 0.0, STILL, STILL, 0)
    assert machine.cycle(thetad=moving, knows_speed=0) == HOLDING
    assert machine.cycle(thetad=moving) == STOPPING
    assert machine.fault == SETTLING
    assert machine.cycle() == HOLDING
    assert machine.cycle(thetad=moving) == HOLDING  # from now on it may follow


def test_a_joint_that_is_too_fast_for_long_is_stopped():
    """2 rad/s is the limit of the first joint; the second one has none."""
    for fast, fault in (((2.3, 0.0), NONE), ((0.0, 9.0), NONE), ((-2.5, 0.0), modes.OVERSPEED)):
        machine = Machine()
        for _ in range(3):
            machine.moving(*fast)  # an estimate may jump
            machine.cycle()
        for _ in range(round(modes.LASTING / PERIOD) + 2):
            machine.moving(*fast)
        assert machine.fault == fault


@pytest.mark.parametrize("pattern", [(1.0, -1.0), (1.0, 1.0, -1.0, -1.0), (0.4, -0.4), (0.0, 1.0)])
def test_a_torque_that_jumps_back_and_forth_by_its_limit_is_stopped(pattern):
    machine = Machine()
    wide = [np.diff(np.r_[pattern, pattern[0]]) * 20.0]
    for k in range(round(4.0 * modes.CHATTER_FOR / PERIOD)):
        machine.cycle(sent=np.array([0.0, 20.0 * pattern[k % len(pattern)]]))
        if machine.fault:
            break
    assert (machine.fault == modes.CHATTER) == (np.abs(wide).max() >= 20.0)
    if machine.fault:
        assert machine.memory.joint[0] == 1
        assert machine.now > modes.CHATTER_FOR


def test_noise_below_the_limit_and_single_jumps_are_no_chatter():
    machine = Machine()
    rng = np.random.default_rng(0)
    for k in range(1000):
        sent = 0.4 * RULES.torque_limit * rng.uniform(-1.0, 1.0, 2)
        if k % 20 == 0:
            sent = RULES.torque_limit * (-1.0) ** (k // 20)
        machine.cycle(sent=sent)
    assert machine.fault == NONE


@pytest.mark.parametrize(
    ("changes", "fault", "mode"),
    [
        ({"lacks_links": 1}, NO_LINKS, STOPPING),
        ({"lacks_motors": 1}, NO_MOTORS, STOPPING),
        ({"lacks_links": 1, "lacks_motors": 1}, NO_MOTORS, LOST),
        ({"elapsed": 0.3}, TIME, STOPPING),
        ({"is_lost": 1}, modes.ESTIMATE, STOPPING),
        ({"contact": YIELDING}, CONTACT, YIELDING),
        ({"contact": STOPPING}, CONTACT, STOPPING),
        ({"error": np.array([0.1, -0.3])}, TRACKING, STOPPING),
    ],
)
def test_each_cause_leads_to_its_fault_and_mode_in_the_same_cycle(changes, fault, mode):
    machine = Machine()
    assert machine.cycle(**changes) == mode
    assert machine.fault == fault
    row = FAULTS[fault]
    assert row.mode == mode or mode in (LOST, STOPPING)
    machine.cycle(100)  # the cause is over, and the arm at rest
    assert (machine.mode == HOLDING) == (row.ends == PASSING)
    if row.ends != PASSING:
        modes.clear_fault(machine.rules, machine.memory, STILL, STILL)
        assert machine.cycle(2) == HOLDING


def test_without_a_stop_on_links_missing_motors_lose_the_arm():
    assert Machine(stops_on_links=0).cycle(lacks_motors=1) == LOST


def test_states_that_return_start_the_stop_for_them_anew():
    machine = Machine()
    machine.cycle(lacks_motors=1)
    assert machine.memory.on_links[0]
    machine.memory.is_new[0] = 0
    assert machine.moving(0.5, 0.0) == STOPPING
    assert not machine.memory.on_links[0]
    assert machine.memory.is_new[0]
    machine = Machine()
    machine.cycle(lacks_motors=1, lacks_links=1)
    assert machine.moving(0.5, 0.0) == STOPPING


def test_an_arm_that_only_holds_never_follows():
    machine = Machine(follows=0)
    assert machine.mode == STOPPING
    assert machine.cycle(1000) == STOPPING


def test_recovery_needs_settled_velocities_and_an_arm_at_rest():
    machine = Machine()
    machine.cycle(lacks_links=1)
    assert machine.cycle(is_settled=0) == STOPPING
    assert machine.moving(0.2, 0.0) == STOPPING
    assert machine.cycle() == HOLDING
    machine = Machine(recovers=0)
    machine.cycle(lacks_links=1)
    assert machine.cycle(100) == STOPPING


def test_more_recoveries_than_allowed_in_the_window_are_a_fault_of_their_own():
    machine = Machine(recovery_window=10.0)
    for _ in range(2):
        machine.cycle(lacks_links=1)
        assert machine.cycle() == HOLDING
    machine.cycle(lacks_links=1)
    assert machine.cycle() == STOPPING
    assert machine.fault == REPEATED
    modes.clear_fault(machine.rules, machine.memory, STILL, STILL)
    assert machine.cycle() == HOLDING
    for _ in range(3):  # far enough apart
        machine.now += 6.0
        machine.cycle(lacks_links=1)
        assert machine.cycle() == HOLDING


@given(st.integers(0, 4), st.integers(0, 30), st.sampled_from([4, 5, modes.RECOVERIES]))
def test_the_ring_of_recoveries_forgets_only_what_is_outside_the_window(limit, count, length):
    """Against the list of all times; also with a ring that holds no more than the limit."""
    machine, times = Machine(recovery_limit=limit, recovery_window=5.0), []
    machine.memory = machine.memory._replace(recoveries=np.zeros(length))
    for _ in range(count):
        machine.now += 1.7
        machine.cycle(lacks_links=1)
        machine.cycle()
        recent = [t for t in times if machine.now - t <= 5.0]
        if limit and len(recent) >= limit:
            assert machine.fault == REPEATED
            return
        times.append(machine.now)
        assert machine.mode == HOLDING


# Late torques


def late(machine: Machine, cycles: int, delay: float) -> None:
    for _ in range(cycles):
        machine.cycle()
        modes.note_delay(machine.rules, machine.memory, machine.now, delay, STILL, STILL)


def test_only_torques_that_are_all_late_for_a_while_stop_the_arm():
    machine = Machine()
    for _ in range(10):
        late(machine, 24, 0.006)
        late(machine, 1, 0.004)
    assert machine.mode == HOLDING
    late(machine, 27, 0.006)
    assert (machine.mode, machine.fault) == (STOPPING, LATE)
    assert machine.memory.tolerates_delay[0]
    machine = Machine(latency_tolerance=0.0)
    late(machine, 100, 1.0)
    assert machine.mode == HOLDING


def test_another_fault_while_torques_are_late_is_answered_by_the_stop_that_tolerates_them():
    machine = Machine()
    late(machine, 3, 0.006)
    machine.cycle(lacks_links=1)
    assert machine.memory.tolerates_delay[0]
    machine.cycle(100)
    assert machine.mode == HOLDING
    assert not machine.memory.tolerates_delay[0]


def test_an_arm_that_yields_is_stopped_if_torques_become_late():
    machine = Machine()
    machine.cycle(contact=YIELDING)
    late(machine, 2, 0.006)
    assert machine.mode == STOPPING
    assert machine.fault == CONTACT


# Stops that fail


def stopped(speed: float = 1.0, **changes) -> Machine:
    """A stop that begins with the first joint at `speed` and the second at rest."""
    machine = Machine(**changes)
    machine.moving(speed, 0.0, error=np.array([0.3, 0.0]))
    assert machine.mode == STOPPING
    return machine


def run(
    machine: Machine, speeds: Callable[[float], tuple[float, float]], seconds: float = 10.0
) -> float | None:
    """The time at which a stop with these speeds (2,) over time has failed."""
    begin = machine.now
    for _ in range(round(seconds / PERIOD)):
        if machine.moving(*speeds(machine.now - begin)) == LOST:
            assert machine.fault == STOP_FAILED
            return machine.now - begin
    return None


def test_a_stop_that_slows_down_and_holds_does_not_fail():
    assert run(stopped(), lambda t: (np.exp(-t), 0.3 * np.exp(-3.0 * t)), 60.0) is None


def test_a_stop_after_a_cleared_fault_gets_its_time_anew():
    """An arm that was lost and still moves: neither the time of the failed stop nor that without
    torques counts."""
    machine = stopped()
    assert run(machine, lambda t: (0.5, 0.0)) is not None
    machine.now += 60.0
    modes.clear_fault(machine.rules, machine.memory, np.array([0.5, 0.0]), np.zeros(2))
    for _ in range(round(0.05 / PERIOD)):
        assert machine.moving(0.5, 0.0) == STOPPING
        modes.note_delay(machine.rules, machine.memory, machine.now, 1.0, STILL, STILL)
        assert machine.fault == modes.SETTLING
    assert run(machine, lambda t: (0.5, 0.0)) > machine.rules.stop_timeout - 0.1


def test_a_joint_that_becomes_faster_than_the_motion_fails_the_stop():
    machine = stopped()
    np.testing.assert_allclose(machine.memory.top_speed, [1.5 * 1.0 + 0.25 * 2.0, 0.25 * 2.0])
    t = run(machine, lambda t: (0.5, 0.1 * np.exp(2.0 * t)))
    assert np.log(5.0) / 2.0 < t < np.log(5.0) / 2.0 + 0.06
    assert machine.memory.joint[0] == 1
    assert machine.memory.allowed[0] == 0.5


def test_a_limit_for_all_joints_replaces_that_of_the_motion():
    assert run(stopped(stop_speed_limit=3.0), lambda t: (2.5, 0.0), 1.0) is None
    assert run(stopped(stop_speed_limit=0.8), lambda t: (0.9, 0.0), 1.0) is not None


def test_short_peaks_of_the_speed_do_not_fail_a_stop():
    assert run(stopped(), lambda t: (9.0 if t % 0.2 < 0.045 else 0.05, 0.0), 3.0) is None


@pytest.mark.parametrize("speed", [0.11, 0.5])
def test_an_arm_that_does_not_come_to_rest_in_time_fails_the_stop(speed):
    machine = stopped()
    assert run(machine, lambda t: (speed, 0.0)) == pytest.approx(5.0, abs=0.02)
    assert machine.memory.how[0] == modes.MOVES
    assert machine.memory.allowed[0] == RULES.stop_timeout


def test_an_oscillation_through_rest_is_not_rest():
    t = run(stopped(), lambda t: (0.4 * abs(np.sin(30.0 * t)), 0.0))
    assert t == pytest.approx(5.0, abs=0.1)


def turn(
    machine: Machine,
    speed: Callable[[float], float],
    noise: float = 0.0,
    resolution: float = 1e-12,
    **changes,
) -> float | None:
    """The time at which a stop has failed whose first joint turns at this speed over time, while
    its velocity is measured as `noise`, back and forth, at which it moves nowhere."""
    begin, place = machine.now, np.zeros(2)
    changes = {side: np.full(2, resolution) for side in ("link_step", "motor_step")} | changes
    for k in range(round(4.0 / PERIOD)):
        t = machine.now - begin
        place = place + PERIOD * np.array([speed(t), 0.0])
        seen = np.array([speed(t) + noise * (-1.0) ** k, 0.0])
        shown = np.round(place / resolution) * resolution
        here = moving(*seen)._replace(q=shown, theta=shown, **changes)
        if machine.cycle(**here._asdict()) == LOST:
            return machine.now - begin
    return None


@pytest.mark.parametrize("v", [0.0, 0.5, 2.0])
def test_a_stop_that_goes_as_far_as_its_forecast_does_not_fail(v):
    """0.2 rad from 2 rad/s, the limit of the joint."""
    assert turn(stopped(v), lambda t: v * np.exp(-10.0 * t), noise=0.3) is None


@pytest.mark.parametrize("slow", [0.2, 0.21, 0.225, 0.24])  # s
@pytest.mark.parametrize("noise", [0.0, 6.0])
def test_a_stop_that_speeds_up_fails_within_100_ms_whatever_the_velocities_are(noise, slow):
    """From 1 rad/s it slows down for a while, and then speeds up. That shows soon, wherever the
    windows begin in which the speed is measured."""
    machine = stopped(1.0 + noise, stop_timeout=np.inf, stop_distance=np.full(2, np.inf))
    failed = turn(machine, lambda t: np.exp(-10.0 * t) if t < slow else 1.8, noise)
    assert slow < failed <= slow + 0.045
    assert machine.fault == STOP_FAILED
    assert machine.memory.how[0] == modes.SPEEDS_UP
    assert machine.memory.joint[0] == 0


def test_a_coarse_encoder_that_shows_two_steps_after_one_does_not_fail_a_stop():
    machine, resolution = stopped(1.5, stop_distance=np.full(2, np.inf)), 0.05
    assert turn(machine, lambda t: 1.5 if t < 0.3 else 0.0, resolution=resolution) is None
    machine = stopped(1.5, stop_distance=np.full(2, np.inf))
    assert turn(machine, lambda t: 1.5 if t < 0.3 else 3.5, resolution=resolution) < 0.4


def test_a_stop_may_begin_with_a_speed_that_the_steps_of_an_encoder_hide():
    """Steps of 0.05 rad, by which it is at rest at first, and moves at 2 rad/s 50 ms later."""
    unknown = {"qd": STILL, "thetad": STILL}
    for speed, is_fine in ((1.6, True), (4.5, False)):
        machine = stopped(0.0, stop_distance=np.full(2, np.inf))
        failed = turn(machine, lambda t: speed if t < 0.1 else 0.0, resolution=0.05, **unknown)  # noqa: B023
        assert (failed is None) == is_fine


def test_the_first_step_of_an_encoder_does_not_fail_a_stop():
    """0.05 rad in 50 ms, of a joint that turns at 0.3 rad/s, where 0.5 are allowed."""
    unknown = {"link_step": STILL, "motor_step": STILL}
    machine = stopped(0.0, stop_distance=np.full(2, np.inf))
    assert turn(machine, lambda t: 0.3, resolution=0.05, **unknown) is None
    machine = stopped(0.0, stop_distance=np.full(2, np.inf))
    assert turn(machine, lambda t: 6.0, resolution=0.05, **unknown) < 0.1


def test_a_stop_that_goes_on_at_its_speed_fails_once_it_is_beyond_its_forecast():
    machine = stopped(1.0)
    failed = turn(machine, lambda t: 1.0)
    assert machine.memory.how[0] == modes.TOO_FAR
    ratio = 1.5 * 1.0 / 2.0 + 0.25  # of the speed for which the distance is forecast
    reach = 2.0 * 0.2 * ratio
    assert machine.memory.allowed[0] == pytest.approx(reach)
    assert failed == pytest.approx(reach / 1.0, abs=2.0 * PERIOD)


def test_the_stop_for_late_torques_has_its_own_forecast_and_that_on_links_none():
    machine = stopped(1.0)
    machine.memory.tolerates_delay[0] = 1
    assert turn(machine, lambda t: 1.0) == pytest.approx(2.0 * 0.8, abs=2.0 * PERIOD)
    machine = Machine()
    slow = lambda t: 1.0 * np.exp(-2.0 * t)  # noqa: E731
    assert turn(machine, slow, lacks_motors=1) is None
    assert machine.fault == NO_MOTORS
    # but it may not speed up either
    machine = Machine()
    assert turn(machine, lambda t: 0.1 + 2.0 * t, lacks_motors=1) is not None


def test_an_arm_that_was_at_rest_may_be_pushed_farther_but_not_fast():
    """The forecast is that of the stop, not of what may happen to an arm that holds."""
    assert turn(stopped(1.0), lambda t: 0.3 if 1.0 < t < 3.0 else 0.0) is None
    assert turn(stopped(1.0), lambda t: 0.9 if 1.0 < t < 3.0 else 0.0) is not None


def test_damping_after_a_failed_stop_fades_and_ends_with_the_fault():
    machine = stopped(1.0)
    assert modes.damping_share(machine.memory, machine.now) == 0.0
    turn(machine, lambda t: 1.0)
    share = lambda t: modes.damping_share(machine.memory, machine.now + t)  # noqa: E731
    times = np.linspace(0.0, modes.DAMPED_FOR, 101)
    found = np.array([share(t) for t in times])
    assert found[0] == 1.0
    assert (np.diff(found) <= 0.0).all()
    assert np.abs(np.diff(found)).max() < 0.02
    assert found[-1] == share(10.0) == 0.0
    machine.memory.fault[0] = modes.NO_DESIGN
    assert share(0.1) == 0.0


# Springs


@pytest.mark.parametrize(
    ("torque", "duration", "is_overloaded"),
    [(119.0, 1.0, False), (-121.0, 1.0, True), (500.0, 0.09, False), (500.0, 0.11, True)],
)
def test_a_spring_that_carries_more_than_gravity_and_motors_for_long_stops_the_arm(
    torque, duration, is_overloaded
):
    """60 N m are believed at rest."""
    machine = Machine()
    machine.cycle(round(duration / PERIOD), springs=np.array([torque, 1e6]))
    machine.cycle(10)
    assert (machine.fault == modes.OVERLOAD) == is_overloaded
    if is_overloaded:
        assert machine.mode == STOPPING
        assert machine.memory.joint[0] == 0
        assert machine.memory.allowed[0] == 120.0


# Encoders


def coarse(factor: float) -> dict[str, np.ndarray]:
    """Steps of the motor encoder of the second joint, relative to those that change its torque by
    its limit."""
    return {"motor_step": factor * RULES.motor_resolution * np.array([0.0, 1.0])}


def test_an_encoder_whose_steps_change_a_torque_by_three_times_its_limit_stops_the_arm():
    machine = Machine()
    assert machine.cycle(10, **coarse(2.9)) == modes.HOLDING
    assert machine.cycle(**coarse(3.1)) == STOPPING
    memory = machine.memory
    assert machine.fault == modes.COARSE
    assert memory.joint[0] == 1
    assert (memory.value[0], memory.allowed[0]) == pytest.approx((0.0155, 0.005))
    assert machine.cycle(1000, **coarse(3.1)) == STOPPING
    machine = Machine()
    assert machine.cycle(link_step=np.array([0.031, 0.0])) == STOPPING
    assert machine.memory.joint[0] == 0
    assert not machine.memory.tolerates_delay[0]  # the stop needs the motors alone


@pytest.mark.parametrize(("factor", "is_smooth"), [(0.9, 0), (1.1, 1)])
def test_a_stop_smooths_the_positions_of_coarse_encoders(factor, is_smooth):
    machine = Machine()
    machine.cycle(lacks_links=1, **coarse(factor))
    assert machine.mode == STOPPING
    assert machine.memory.tolerates_delay[0] == is_smooth
    # the share of the last torque that is that of a step does not fade
    fade = max(1.0 - factor, 0.0) * RULES.stop_transfer_time
    assert machine.memory.duration[0] == pytest.approx(fade, rel=1e-12)
    assert machine.cycle(100, **coarse(factor)) == modes.HOLDING


def test_springs_that_swing_do_not_overload():
    machine = Machine()
    for k in range(500):
        machine.cycle(springs=np.array([400.0 * np.sin(2.0 * np.pi * 6.0 * k * PERIOD), 0.0]))
    assert machine.fault == NONE


def test_an_arm_at_rest_that_is_pushed_has_the_whole_time_again():
    def pushed(t: float) -> tuple[float, float]:
        return (0.3 if 4.0 < t < 8.0 else 0.0), 0.0

    assert run(stopped(), pushed, 12.0) is None


@pytest.mark.parametrize("missing", [4.0, 6.0])
@pytest.mark.parametrize("stops_first", [False, True])
def test_the_time_of_a_stop_keeps_running_while_states_are_missing(missing, stops_first):
    machine = stopped() if stops_first else Machine()
    for _ in range(round(missing / PERIOD)):
        assert machine.cycle(lacks_links=1, lacks_motors=1) == LOST
    t = run(machine, lambda t: (0.3, 0.0))
    assert t == pytest.approx(max(5.0 - missing, 0.0), abs=0.05)


def test_the_stop_after_states_were_missing_begins_once_velocities_are_known():
    """Filters that have just started show no speed yet, and feedback of it would drive the arm."""
    machine = Machine()
    machine.cycle(50, lacks_links=1, lacks_motors=1)
    for k in range(20):
        assert machine.moving(0.1 * k, 0.0, knows_speed=0) == LOST
    assert machine.moving(1.9, 0.0, is_settled=0) == STOPPING
    assert machine.memory.top_speed[0] == pytest.approx(1.5 * 1.9 + 0.25 * 2.0)
    assert run(machine, lambda t: (1.9 * np.exp(-3.0 * t), 0.0)) is None


def test_an_arm_that_is_at_rest_when_its_states_return_has_not_failed():
    machine = Machine()
    machine.cycle(2000, lacks_links=1, lacks_motors=1)
    assert machine.cycle() == HOLDING


def test_an_arm_that_yields_may_move_for_long_but_not_fast():
    machine = Machine()
    machine.cycle(contact=YIELDING)
    for _ in range(3000):
        assert machine.moving(0.3, 0.1) == YIELDING
    for _ in range(20):
        machine.moving(0.3, 1.0)
    assert machine.mode == STOPPING
    assert machine.fault == CONTACT


# Whatever a cycle finds

SITUATIONS = st.builds(
    found,
    lacks_links=st.integers(0, 1),
    lacks_motors=st.integers(0, 1),
    elapsed=st.sampled_from([0.004, 0.004, 0.3]),
    is_lost=st.integers(0, 1),
    is_settled=st.integers(0, 1),
    knows_speed=st.integers(0, 1),
    contact=st.sampled_from([0, 0, 0, STOPPING, YIELDING]),
    qd=st.builds(lambda a, b: np.array([a, b]), st.floats(-5.0, 5.0), st.floats(-5.0, 5.0)),
    thetad=st.builds(lambda a, b: np.array([a, b]), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    error=st.builds(lambda a: np.array([a, 0.0]), st.floats(-0.3, 0.3)),
    sent=st.builds(lambda a, b: np.array([a, b]), st.floats(-40.0, 40.0), st.floats(-20.0, 20.0)),
    q=st.builds(lambda a, b: np.array([a, b]), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    theta=st.builds(lambda a, b: np.array([a, b]), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    springs=st.builds(lambda a: np.array([a, 0.0]), st.floats(-200.0, 200.0)),
    link_step=st.builds(lambda a: np.array([a, 0.0]), st.floats(0.0, 0.1)),
    motor_step=st.builds(lambda a: np.array([0.0, a]), st.floats(0.0, 0.1)),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["cycle", "cycle", "cycle", "clear", "late"]),
        SITUATIONS,
        st.floats(1e-3, 10.0),
    ),
    max_size=40,
)


def test_motors_that_come_back_stop_the_arm_once_their_velocities_are_known():
    machine = Machine()
    assert machine.cycle(lacks_motors=1) == STOPPING
    assert machine.memory.on_links[0]
    machine.cycle(5, knows_speed=0, is_settled=0)
    assert machine.memory.on_links[0]
    machine.memory.is_new[0] = 0
    machine.moving(0.5, 0.0)
    assert not machine.memory.on_links[0]
    assert machine.memory.is_new[0]  # the stop for them starts anew
    assert (machine.mode, machine.fault) == (STOPPING, NO_MOTORS)


@given(STEPS, st.integers(0, 1), st.integers(0, 3))
def test_a_fault_and_a_mode_always_fit_and_end_only_as_the_table_says(steps, on_links, limit):
    machine = Machine(stops_on_links=on_links, recovery_limit=limit)
    for what, situation, step in steps:
        before, mode = machine.fault, machine.mode
        machine.now += step
        if what == "clear":
            modes.clear_fault(machine.rules, machine.memory, situation.qd, situation.thetad)
            assert machine.fault == (SETTLING if before else NONE)
            continue
        if what == "late":
            modes.note_delay(
                machine.rules, machine.memory, machine.now, 0.1, situation.qd, situation.thetad
            )
        else:
            modes.supervise(machine.rules, machine.memory, machine.now, situation)
        assert (machine.fault == NONE) == Mode(machine.mode).is_following
        if machine.fault == NONE and before != NONE:
            assert FAULTS[before].ends == PASSING
            assert situation.is_settled
            assert not situation.lacks_links
            assert not situation.lacks_motors
            assert np.all(abs(situation.thetad) <= RULES.recovery_speed)
        if FAULTS[before].ends == FINAL:
            assert (machine.fault, machine.mode) == (before, mode)
        if FAULTS[before].ends == LATCHED:
            assert FAULTS[machine.fault].ends >= LATCHED
        if what == "cycle" and situation.lacks_motors and not on_links:
            assert machine.mode == LOST
