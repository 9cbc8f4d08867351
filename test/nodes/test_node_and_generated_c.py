# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The node over the middleware and the generated C in this process: the same faults are injected
into both, and both answer as the table says.

Not among them are the faults that only the node can have: the C has no observer that may lose track
(ESTIMATE), detects no contacts (CONTACT), its gains are designed beforehand (NO_DESIGN), and its
activation is refused for states that are not plausible (IMPLAUSIBLE).
"""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from std_srvs.srv import SetBool

from elastic_arms import Arm as Robot
from flatness_arm import NODE, STEP, Arm, trajectory
from generated_controllers import designed, generated, library, needs_compiler, with_loops
from multibody_dynamics.dynamics.control.arm.modes import FAULTS, LATCHED, Cause
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.nodes.base.messages import SECOND, set_stamp
from multibody_dynamics.simulation.compiled_controller import CompiledController
from robots import CONFIG, sprung_five_bar
from ros_harness import ros

__all__ = ["ros"]  # the fixture
PERIOD = 1e-9 * STEP
TIMEOUT, STOP_TIMEOUT, RECOVERIES = 0.1, 2.0, 4
TOLERANCE = 0.3  # rad
TEXTS = "|".join(fault.text for fault in FAULTS[2:])
EVENT = re.compile(rf"\]: ({TEXTS}): (cleared|.*brakes or drives|.*stopping)")
AWAY = 0.5  # rad/s, of an arm that nothing stops
HUGE = 1.7e308


class Node:
    """The node, told of an arm in lockstep, and what it logs."""

    def __init__(self, ros, **changes) -> None:
        self.arm = Arm(
            ros, state_timeout=TIMEOUT, stop_timeout=STOP_TIMEOUT, recovery_limit=RECOVERIES,
            tracking_tolerance=TOLERANCE,
            wrench_tolerance=0.0, **changes,
        )  # fmt: skip
        self.arm.start()
        self._contact = ros.publisher(WrenchStamped, "external_wrench")

    @property
    def plant(self) -> ElasticRobot:
        return self.arm.plant

    def cycle(self, links: bool = True, motors: bool = True, late: int = 0) -> None:
        """One state and its answer, for which it waits long unless the node has fallen silent."""
        arm = self.arm
        arm.tick()
        if links:
            arm.send_links(arm.now - late)
        if motors:
            arm.send_motors(arm.now - late)
        if links and motors:
            arm.is_answered = arm.wait(0.5 if arm.is_answered else 0.02, late)
        else:  # answers on the reference come at their own times
            arm.wait(0.02)
        if not arm.is_stuck:
            self.plant.step(arm.torque, PERIOD)

    @property
    def torque(self) -> np.ndarray:
        return self.arm.torque.copy()

    def run(self, seconds: float, **what: bool) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.cycle(**what)

    def run_late(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.cycle(late=3 * STEP)

    def run_away(self, seconds: float, speed: float = AWAY) -> None:
        self.arm.is_stuck = True
        for _ in range(round(seconds / PERIOD)):
            turn(self.plant, speed)
            self.cycle()
        self.arm.is_stuck = False

    def run_pushed(self, seconds: float, size: float = HUGE, sign: int = 1) -> None:
        """Told of a push that changes by `sign` in every cycle."""
        message = WrenchStamped()
        message.header.frame_id = self.arm.model.body_names[-1]
        for k in range(round(seconds / PERIOD)):
            for axis in "xyz":
                setattr(message.wrench.force, axis, size * sign**k)
                setattr(message.wrench.torque, axis, size * sign**k)
            set_stamp(message.header.stamp, self.arm.now)
            self._contact.publish(message)
            self.cycle()

    def set_clock_back(self) -> None:
        self.arm.now -= 50 * SECOND

    def block(self, is_stuck: bool) -> None:
        self.arm.is_stuck = is_stuck

    def move(self, goal: np.ndarray, duration: float) -> None:
        self.arm.move(goal, duration)

    def clear(self) -> None:
        answer = self.arm.ros.call(SetBool, f"{NODE}/enable", SetBool.Request(data=True))
        assert answer.success, self.arm.node.output[-3000:]

    def events(self) -> list[tuple[str, str]]:
        """The faults in the log, and what was done about them."""
        self.arm.ros.spin(0.05)
        found = EVENT.findall(self.arm.node.output)
        return [(text, "lost" if "brakes" in end else end.split()[-1]) for text, end in found]


class Generated:
    """The generated controller with the same arm."""

    def __init__(self, robot: Robot, folder, **changes) -> None:
        self.resolution, self.hides_steps, self.leap = 0.0, False, 0.0
        design = designed(
            robot, period=PERIOD, transfer_time=0.1, link_timeout=TIMEOUT, motor_timeout=TIMEOUT,
            stop_timeout=STOP_TIMEOUT, recovery_limit=RECOVERIES, tracking_tolerance=TOLERANCE,
            **changes,
        )  # fmt: skip
        self.c = CompiledController(
            library(generated(design, folder)),
            {"frozen_distance": 0.0},  # a blocked arm repeats itself
        )
        self.plant = ElasticRobot(robot.model, robot.actuators, step=1e-3)
        self.plant.reset(robot.rest)
        self.time, self.is_stuck = 100.0, False
        self._events: list[tuple[str, str]] = []
        torque = self.plant.motor_torque.copy()
        for _ in range(40):
            self.time += PERIOD
            self.c.update(self.time, self.plant.q, self.plant.theta)
        self.c.activate(torque)
        self.run(0.2)

    def cycle(self, links: bool = True, motors: bool = True) -> None:
        given, before = self.c._input, self.c.fault
        self.time += PERIOD
        own, theta = self.resolution, self.plant.theta.copy()
        if own:
            theta = np.round(theta / own) * own
            theta += 1e-8 * (round(self.time / PERIOD) % 2) if self.hides_steps else 0.0
        self.c.update(
            self.time,
            self.plant.q + self.leap,
            theta,
            link_time=self.time if links else given.link_time,
            motor_time=self.time if motors else given.motor_time,
        )
        self.note(before)
        if not self.is_stuck:
            self.plant.step(self.c.torque.copy(), PERIOD)

    @property
    def torque(self) -> np.ndarray:
        return self.c.torque.copy()

    def note(self, before: str) -> None:
        """A fault is told when it comes, with its joint, and when it is over; settling is not."""
        own, settling = self.c.fault, FAULTS[Cause.SETTLING].text
        if own != before and own not in ("", settling):
            self._events.append((own, self.c.state))
            of_joint = {fault.text: fault.of_joint for fault in FAULTS}[own]
            assert (self.c.fault_joint in self.c.joint_names) == of_joint
        elif own != before and before not in ("", settling):
            self._events.append((before, "cleared"))

    def run(self, seconds: float, **what: bool) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.cycle(**what)

    def run_late(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.cycle()
            before = self.c.fault
            self.c.note_delay(3 * PERIOD)
            self.c.update(self.time, self.plant.q, self.plant.theta)  # reports the fault
            self.note(before)

    def run_away(self, seconds: float, speed: float = AWAY) -> None:
        self.is_stuck = True
        for _ in range(round(seconds / PERIOD)):
            turn(self.plant, speed)
            self.cycle()
        self.is_stuck = False

    def run_pushed(self, seconds: float, size: float = HUGE, sign: int = 1) -> None:
        for k in range(round(seconds / PERIOD)):
            self.c.set_external_torque(np.full(2, size * sign**k))
            self.cycle()
        self.c.set_external_torque([0.0, 0.0])

    def set_clock_back(self) -> None:
        self.time -= 50.0

    def block(self, is_stuck: bool) -> None:
        self.is_stuck = is_stuck

    def move(self, goal: np.ndarray, duration: float) -> None:
        assert not self.c.append(self.time + duration, goal)

    def clear(self) -> None:
        self.c.clear_fault()  # told by the next cycle

    def events(self) -> list[tuple[str, str]]:
        return self._events


def two_links() -> Robot:
    model = load_urdf(CONFIG / "robots" / "planar_two_link.urdf")
    springs = CONFIG / "elastic_joints" / "planar_two_link.yaml"
    return Robot(model, load_actuators(springs, model.joint_names), np.full(2, -0.4))


def turn(plant: ElasticRobot, speed: float) -> None:
    """Links and motors turn, whatever the torque."""
    plant.q[:] += PERIOD * speed
    plant.theta[:] += PERIOD * speed


def run_fast(arm: Node | Generated) -> None:
    """Faster than the limit of the first joint, 3 rad/s, in the direction of the motion."""
    arm.run_away(0.1, math.copysign(4.0, arm.plant.qd[0]))


def wind(arm: Node | Generated) -> None:
    """The motors of a blocked arm bend its springs beyond 2 times their torque limits; once it has
    been stopped, they are relaxed slowly."""
    arm.block(True)
    told = len(arm.events())
    for k in range(150):
        if k % 10 == 0 and len(arm.events()) > told:
            break
        arm.plant.theta[:] += PERIOD * np.copysign(2.5, arm.plant.q + 0.4)
        arm.cycle()
    arm.run(0.4)
    wound = arm.plant.theta.copy()
    arm.plant.reset(arm.plant.q.copy())  # where they carry the arm at rest, as brakes will find it
    for part in np.linspace(wound, arm.plant.theta, 500):
        arm.plant.theta[:] = part
        arm.cycle()


def leap(arm: Node | Generated) -> None:
    """The encoders of the links lose a turn, for a while."""
    own = arm.arm if isinstance(arm, Node) else arm
    own.leap = 2.0 * math.pi
    arm.run(0.3)
    own.leap = 0.0


def lose(**what: bool) -> Callable[[Node | Generated], None]:
    return lambda arm: arm.run(0.3, **what)


def block(arm: Node | Generated) -> None:
    arm.block(True)
    told = len(arm.events())
    for _ in range(50):
        arm.run(0.02)
        if len(arm.events()) > told:
            return


def moved(arm: Node | Generated, seconds: float) -> float:
    """How far a joint moves at most, rad."""
    place, far = arm.plant.q.copy(), 0.0
    for _ in range(round(seconds / PERIOD)):
        arm.cycle()
        far = max(far, float(np.abs(arm.plant.q - place).max()))
    return far


def interrupt(arm: Node | Generated) -> None:
    for _ in range(RECOVERIES + 1):
        arm.run(0.3, links=False)
        arm.run(0.8)  # until it follows again


STOPS = "stopping"
INTERRUPTED = [(Cause.NO_LINKS, STOPS), (Cause.NO_LINKS, "cleared")] * RECOVERIES
INJECTIONS: dict[str, tuple[Callable, list[tuple[Cause, str]]]] = {
    "links": (lose(links=False), [(Cause.NO_LINKS, STOPS)]),
    "motors": (lose(motors=False), [(Cause.NO_MOTORS, STOPS)]),
    "both": (lose(links=False, motors=False), [(Cause.NO_MOTORS, "lost")]),
    "leap": (leap, [(Cause.NO_LINKS, STOPS)]),
    "clock": (lambda arm: arm.set_clock_back(), [(Cause.TIME, STOPS)]),
    "blocked": (block, [(Cause.TRACKING, STOPS)]),
    "late": (lambda arm: arm.run_late(0.3), [(Cause.LATE, STOPS)]),
    "pushed": (lambda arm: arm.run_pushed(0.1), [(Cause.NOT_FINITE, STOPS)]),
    "fast": (run_fast, [(Cause.OVERSPEED, STOPS)]),
    "chatter": (lambda arm: arm.run_pushed(0.12, 200.0, -1), [(Cause.CHATTER, STOPS)]),
    "wound up": (wind, [(Cause.OVERLOAD, STOPS)]),
    "interrupted": (interrupt, [*INTERRUPTED, (Cause.NO_LINKS, STOPS), (Cause.REPEATED, STOPS)]),
    "away": (
        lambda arm: arm.run_away(3.0), [(Cause.TRACKING, STOPS), (Cause.STOP_FAILED, "lost")],
    ),
}  # fmt: skip


def answers(arm: Node | Generated) -> dict[str, list[tuple[str, str]]]:
    """What the arm does about every injection, moving before it, until it is over."""
    found, told = {}, 0
    for name, (inject, expected) in INJECTIONS.items():
        if name not in ("away", "interrupted"):
            here = arm.plant.q
            arm.move(here - np.copysign(0.6, here + 0.4), 1.0)
            arm.run(0.4)
        inject(arm)
        if FAULTS[expected[-1][0]].ends >= LATCHED:
            arm.block(True)  # by brakes, until it follows again
            arm.plant.reset(arm.plant.q.copy())
            arm.run(0.5)
            arm.clear()
            arm.run(0.5)
            arm.block(False)
            far = moved(arm, 1.2)
            # other than after silence, the law acts against brakes, and compensates for them
            assert far < 1e-3 or expected[-1][1] != "lost", name
        else:
            arm.run(1.2)
        events = arm.events()
        found[name], told = events[told:], len(events)
    return found


@needs_compiler
def test_every_fault_has_the_same_answer(ros, tmp_path):
    in_c = answers(Generated(two_links(), tmp_path))
    node = Node(ros)
    over_dds = answers(node)
    for name, (_, expected) in INJECTIONS.items():
        last = expected[-1][0]
        wanted = [(FAULTS[cause].text, end) for cause, end in [*expected, (last, "cleared")]]
        assert in_c[name] == wanted, name
        assert over_dds[name] == wanted, (
            name,
            re.findall(r"stop failed: .*", node.arm.node.output),
        )
    caused = {cause for _, expected in INJECTIONS.values() for cause, _ in expected}
    elsewhere = {Cause.COARSE}  # in the test below
    only_in_the_node = {Cause.ESTIMATE, Cause.CONTACT, Cause.NO_DESIGN, Cause.IMPLAUSIBLE}
    assert caused | elsewhere | only_in_the_node | {Cause.NONE, Cause.SETTLING} == set(Cause)
    for cause in caused - {Cause.NO_MOTORS}:  # lost only if the links are missing, too
        ends = {end for _, rows in INJECTIONS.values() for each, end in rows if each == cause}
        assert ends <= {FAULTS[cause].mode.name.lower(), "cleared"}
    assert "Traceback" not in node.arm.node.output


@needs_compiler
def test_a_stop_that_drives_the_arm_away_is_damped_and_ends(ros, tmp_path):
    """In C by motor encoders of 7 bits, whose steps a flicker hides. What these do to the node
    depends on when messages arrive: there, the arm is hit as it stops. Torques change by 2 N m per
    cycle: a second of damping, then the brakes, which were called for, have to hold the arm."""
    rate = 1000.0
    limits = {"torque_rate_limits": [rate, rate]}
    c = Generated(two_links(), tmp_path, torque_rate=rate, base_frequency=0.0)
    node = Node(ros, law="motor_pd", base_frequency=0.0, frozen_distance=0.0, **limits)
    set_resolution(c, 2.0 * np.pi / 2**7)
    c.hides_steps = True
    for arm in (c, node):
        arm.move(arm.plant.q + 1.0, 1.0)
        if arm is node:
            block(arm)
            arm.block(False)
            arm.plant.qd[:] = arm.plant.thetad[:] = 3.0
            place = arm.plant.q.copy()
        for _ in range(round(2.0 / PERIOD)):
            before = arm.torque
            arm.cycle()
            assert np.abs(arm.torque - before).max() <= rate * PERIOD * (1.0 + 1e-6)
            if len(arm.events()) == 1:
                place = arm.plant.q.copy()
            if len(arm.events()) > 1:
                break
        assert arm.events()[1] == ("stop failed", "lost")
        speeds = []
        for _ in range(round(0.9 / PERIOD)):
            arm.cycle()
            speeds.append(np.abs(arm.plant.qd).max())
        assert abs(arm.plant.q[0] - place[0]) < 2.0, type(arm)  # 5.3 without that
        assert max(speeds[-50:]) < max(speeds[:50]), type(arm)
        if isinstance(arm, Node):
            assert arm.arm.is_answered
            arm.run(0.3)
            assert not arm.arm.is_answered


def set_resolution(arm: Node | Generated, resolution: float) -> None:
    own = arm.arm if isinstance(arm, Node) else arm
    own.resolution = resolution


@needs_compiler
def test_encoders_too_coarse_for_the_gains_stop_the_arm(ros, tmp_path):
    """Motor encoders of 7 bits: the stop smooths their positions; if it fails, it is damped."""
    for arm in (Generated(two_links(), tmp_path), Node(ros, frozen_distance=0.0)):
        set_resolution(arm, 2.0 * np.pi / 2**7)
        arm.move(arm.plant.q + 0.6, 1.0)
        for _ in range(round(1.0 / PERIOD)):
            arm.cycle()
            if arm.events():
                break
        place, text = arm.plant.q.copy(), FAULTS[Cause.COARSE].text
        arm.run(2.0)
        first, *later = arm.events()
        assert first == (text, STOPS), type(arm)
        assert later in ([], [(FAULTS[Cause.STOP_FAILED].text, "lost")]), type(arm)
        assert np.abs(arm.plant.q - place).max() < 1.0, type(arm)
        if isinstance(arm, Node):
            assert "each of which changes a torque by" in arm.arm.node.output


FIVE_BAR = {"robot": "five_bar", "folders": ("mechanisms", "mechanisms")}


@needs_compiler
@pytest.mark.parametrize(
    ("name", "distance"), [("two_links", 0.5), ("five_bar", 0.25), ("five_bar, springs", 0.25)]
)
def test_the_same_states_have_the_same_torques(ros, tmp_path, name, distance):
    """Of a motion over DDS, the C is given the states of the node's arm."""
    robot, files = two_links(), {}
    if name != "two_links":
        springs = sprung_five_bar(tmp_path) if "springs" in name else "five_bar"
        robot, files = with_loops(springs), FIVE_BAR | {"springs": springs}
    design = designed(robot, period=PERIOD, transfer_time=0.1)
    c = CompiledController(library(generated(design, tmp_path)))
    node = Node(
        ros, design_position=robot.rest.tolist(), frozen_distance=0.0, unstable_poses="accept",
        trajectory_shape="least_jerk", rest=robot.rest, **files,
    )  # fmt: skip
    found, goal = [], np.zeros((5, 2))

    def run(seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            q, theta = node.plant.q.copy(), node.plant.theta.copy()
            node.cycle()
            c.update(1e-9 * node.arm.now, q, theta)
            found.append((c.desired[1].copy(), c.torque.copy(), node.torque))

    run(0.2)
    c.activate(node.torque)
    run(2.0)  # until both have forgotten how they began
    begin = node.arm.now + round(0.1 * SECOND)
    message = trajectory(node.arm.model.joint_names, {1.0: node.plant.q + distance})
    set_stamp(message.header.stamp, begin)
    node.arm.trajectory.publish(message)
    node.arm.ros.spin(0.3)
    goal[0] = c.desired[0]
    assert not c.append(1e-9 * begin, goal)
    goal[0] = message.points[0].positions
    assert not c.append(1e-9 * begin + 1.0, goal)
    del found[:]
    run(1.5)
    velocities, in_c, over_dds = map(np.array, zip(*found, strict=True))
    assert np.abs(velocities).max() > 1.8 * distance
    assert np.abs(in_c - over_dds).max() < 1e-10 * np.abs(in_c).max()


def torques(arm: Node | Generated, gap: int, every: int = 1, **what: bool) -> np.ndarray:
    """Those of a motion during which there is a gap of so many cycles, or states come only in
    `every` so many cycles, and those after it."""
    here = arm.plant.q
    arm.move(here - np.copysign(0.6, here + 0.4), 1.0)
    arm.run(0.4)
    found = [arm.torque]
    for k in range(100):
        arm.cycle(**(what if k < gap or k % every else {}))
        found.append(arm.torque)
    arm.run(0.8)
    return np.array(found)


@needs_compiler
def test_no_gap_in_the_states_shakes_the_torque(ros, tmp_path):
    """Neither without one side nor without both, for up to 60 of the 100 ms until the arm stops."""
    limit = two_links().actuators.torque_limit
    for arm in (Generated(two_links(), tmp_path), Node(ros)):
        smooth = np.abs(np.diff(torques(arm, 0), axis=0)).max(axis=0)
        for gap in (2, 5, 30):
            for what in ({"links": False}, {"motors": False}, {"links": False, "motors": False}):
                found = np.abs(np.diff(torques(arm, gap, **what), axis=0)).max(axis=0)
                assert (found <= smooth + 0.05 * limit).all(), (type(arm), gap, what)
        for every, what in (
            (2, {"links": False, "motors": False}),
            (8, {"links": False, "motors": False}),
            (8, {"links": False}),
            (8, {"motors": False}),
        ):
            found = np.abs(np.diff(torques(arm, 0, every, **what), axis=0)).max(axis=0)
            assert (found <= smooth + 0.05 * limit).all(), (type(arm), every, what)
        assert arm.events() == []
