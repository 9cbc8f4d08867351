# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Copies and pickles of every public class are right or refused, never silently wrong.

Public classes are those that the faces of the rooms export, and those of `simulation/`. An instance
of each is found in one of the arms below, or constructed from arguments by their names. A new class
needs an example here only if neither is possible.
"""

import copy
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import pytest

import multibody_dynamics
from elastic_arms import Arm as Robot
from elastic_arms import (
    antagonistic_arm,
    at_rest_under,
    at_start,
    linear_arm,
    sample_of,
    variable_arm,
)
from law_table import LAW_TABLE
from mechanisms import four_bar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import (
    codegen,
    control,
    core,
    elastic,
    identification,
    mechanisms,
    motion,
    plant,
    rigid,
    tasks,
)
from multibody_dynamics.dynamics.control.signals.frozen_sides import compiled_notice_frozen
from robots import panda

MODEL, ACTUATORS, REST = linear_arm()
N = MODEL.n


def public_classes() -> list[type]:
    """Without tuples, enums, exceptions and abstract classes, which Python copies by value, or
    which have no instances."""
    found: dict[type, None] = {}
    for module in pkgutil.walk_packages(multibody_dynamics.__path__, "multibody_dynamics."):
        room = module.name.split(".")[1]
        if not (room in ("dynamics", "validation") and module.ispkg) and room != "simulation":
            continue
        loaded = importlib.import_module(module.name)
        names = [name for name in vars(loaded) if name[0] != "_"]
        for value in (getattr(loaded, name) for name in getattr(loaded, "__all__", names)):
            is_own = room != "simulation" or getattr(value, "__module__", "") == module.name
            if inspect.isclass(value) and value.__module__.startswith("multibody_d") and is_own:
                found[value] = None
    return [
        each
        for each in found
        if not issubclass(each, tuple | Enum | BaseException)
        and not inspect.isabstract(each)
        and not getattr(each, "_is_protocol", False)
    ]


CLASSES = public_classes()

# Arguments of constructors by their names.
ARGUMENTS: dict[str, Any] = {
    "model": MODEL, "tree": MODEL, "actuators": ACTUATORS, "joint_names": MODEL.joint_names,
    "names": ("one", "two"), "name": "name", "labels": MODEL.joint_names,
    "motor_names": ACTUATORS.motor_names, "values": np.ones((2, N)), "limits": MODEL.limits,
    "gain": 30.0, "bandwidth": 20.0, "period": 1e-3, "rate": 1000.0, "cutoff": 20.0, "size": N,
    "count": N, "n": N, "motors": len(ACTUATORS.motors), "motor": elastic.Motor(0.1),
    "agonist": elastic.Motor(0.1), "antagonist": elastic.Motor(0.1),
    "spring": elastic.LinearSpring(100.0), "K": 100.0, "K3": 10.0, "inertia": 0.1,
    "stiffness_range": (100.0, 500.0), "coefficients": (100.0, 20.0),
    "deflections": (-0.1, 0.0, 0.1), "torques": (-10.0, 0.0, 10.0), "delay": 2e-3, "initial": 0.0,
    "order": 2, "duration": 1.0, "start_time": 0.0, "end_time": 1.0, "q": REST, "position": REST,
    "second": np.zeros(0), "signals": ("link_position", "motor_position"), "thresholds": None,
    "learner": None, "path": Path("recording.csv"), "proportional": 30.0, "derivative": 10.0,
    "mass": rigid.mass_matrix(MODEL, REST), "bodies": np.zeros((N + 1, 120)), "body": "upper_arm",
    "alpha": 5.0, "beta": 5.0, "stiffness": 100.0, "share": 0.5, "terms": [1.0, 2.0, 3.0],
    "settings": control.FlatnessSettings(), "sent": control.SentTorques(N), "end": 1.0,
    "time": 0.2, "capacity": 1.0, "value": np.ones(N), "theta": np.zeros(N),
    "joint": control.TorqueJoint(inertia=1.0, stiffness=100.0), "servo": control.TorqueServo(),
}  # fmt: skip


def program() -> codegen.Program:
    graph = codegen.Graph()
    x, y = graph.inputs("x", 2)
    return codegen.Program(graph, {"z": [x * y + 2.0 * x]})


def scheduled_feedback() -> control.ScheduledFeedback:
    schedule = control.GainSchedule(model=MODEL, actuators=ACTUATORS, bandwidth=20.0)
    return control.ScheduledFeedback(MODEL, ACTUATORS, schedule, REST)


def damped_arm() -> plant.ElasticRobot:
    """A robot in motion whose springs are damped, with end stops and a drive."""
    springs = [elastic.SeriesElastic(each, elastic.LinearSpring(300.0), 5.0) for each in MOTORS]
    robot = plant.ElasticRobot(MODEL, elastic.Actuators(MODEL.joint_names, tuple(springs)))
    robot.reset(REST, np.ones(N))
    return robot


MOTORS = ACTUATORS.motors
# Of classes that are found in no arm, and whose arguments cannot be guessed.
EXAMPLES: dict[str, Callable[[], Any]] = {
    "BoundCall": lambda: core.BoundCall(compiled_notice_frozen, np.zeros(N)),
    "AdaptiveFeedforward": lambda: control.AdaptiveFeedforward(panda()),
    "CollisionReaction": lambda: control.CollisionReaction(
        control.CollisionDetector(MODEL, ACTUATORS, None), MODEL.limits
    ),
    "ClosedChainModel": lambda: mechanisms.closed_chain(four_bar().system, four_bar().q),
    "CompositeJoint": lambda: mechanisms.CompositeJoint(
        dyn.universal((0, 0, 0), (1, 0, 0), (0, 1, 0))
    ),
    "BodyFixedJoint": lambda: mechanisms.BodyFixedJoint.spherical(),
    "ConstrainedForwardDynamicsDerivativesSolver": lambda: (
        mechanisms.ConstrainedForwardDynamicsDerivativesSolver(four_bar().system, four_bar().q)
    ),
    "ConstrainedForwardDynamicsSolver": lambda: mechanisms.ConstrainedForwardDynamicsSolver(
        four_bar().system, four_bar().q
    ),
    "ConstrainedInverseDynamicsSolver": lambda: mechanisms.ConstrainedInverseDynamicsSolver(
        four_bar().system, four_bar().q
    ),
    "ConstrainedModel": lambda: four_bar().system,
    "ConstrainedMomentumSolver": lambda: mechanisms.ConstrainedMomentumSolver(
        four_bar().system, four_bar().q
    ),
    "ControllerSettings": lambda: control.ControllerSettings(position=REST),
    "Eccentricity": lambda: plant.Eccentricity(np.full(N, 1e-3), np.zeros(N)),
    "ElasticRobot": damped_arm,
    "ExponentialJoint": lambda: mechanisms.ExponentialJoint(dyn.planar()),
    "Expression": lambda: codegen.Graph().inputs("x", 2)[1],
    "InformationCriterion": lambda: identification.InformationCriterion(
        identification.TorqueColumns(MODEL), np.ones(N)
    ),
    "LearnedCorrection": lambda: control.LearnedCorrection(1.0, np.ones((8, N))),
    "LoopJudge": lambda: control.LoopJudge(scheduled_feedback(), REST),
    "MultiDofModel": lambda: mechanisms.MultiDofModel(
        parents=(-1,),
        joints=(mechanisms.SphericalJoint(),),
        placements=np.eye(4)[None],
        inertias=MODEL.inertias[:1],
    ),
    "MultiDofInverseDynamicsSolver": lambda: mechanisms.MultiDofInverseDynamicsSolver(
        mechanisms.MultiDofModel(
            parents=(-1,),
            joints=(mechanisms.BodyFixedJoint.spherical(),),
            placements=np.eye(4)[None],
            inertias=MODEL.inertias[:1],
        )
    ),
    "PolynomialSpring": lambda: elastic.PolynomialSpring((60.0, 400.0), travel=(0.0, 0.5)),
    "Program": program,
    "SampledSpring": lambda: elastic.SampledSpring(
        elastic.PolynomialSpring((60.0, 400.0), travel=(0.0, 0.5))
    ),
    "ScheduledFeedback": scheduled_feedback,
    "StandingForces": lambda: tasks.StandingForces(MODEL, [tasks.Contact("upper_arm", np.eye(3))]),
    "StreamedMotion": lambda: motion.StreamedMotion(
        MODEL.joint_names,
        motion.StreamLimits(*[np.full(N, x) for x in (-3.0, 3.0, 2.0, 10.0)], 0.1, 1.0),
        0.0,
        np.zeros((5, N)),
    ),
    "TaskSpaceSolver": lambda: tasks.TaskSpaceSolver(panda(), tasks.Task("panda_link7")),
    "Trajectory": lambda: motion.interpolate(MODEL.joint_names, [0.0, 1.0], [[0, 0], [1, 0.5]]),
}


@cache
def arms() -> dict[str, control.Arm]:
    """Arms under every law, in motion."""
    made = {law: at_rest_under(linear_arm(), law=law) for law in LAW_TABLE}
    made["variable stiffness"] = at_rest_under(variable_arm())
    made["antagonistic"] = at_rest_under(antagonistic_arm())
    for arm in made.values():
        drive(arm)
    return made


@cache
def in_arms() -> dict[type, Any]:
    found: dict[type, Any] = {}
    for arm in arms().values():
        for _, value in parts(arm):
            found.setdefault(type(value), value)
    return found


def parts(root: Any) -> Iterator[tuple[str, Any]]:
    """What an object consists of, with the way to it."""
    seen, left = set(), [("", root)]
    while left:
        way, value = left.pop()
        if hasattr(value, "__dict__"):  # alone can refer to itself
            if id(value) in seen:
                continue
            seen.add(id(value))
        yield way, value
        left += [(f"{way}.{name}", each) for name, each in contents(value)]


def contents(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, core.BoundCall):  # and not its table of addresses
        yield from enumerate(value.arguments)
    elif isinstance(value, partial):
        yield from enumerate((*value.args, *value.keywords.values()))
    elif isinstance(value, MethodType):
        yield "self", value.__self__
    elif isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple | deque):
        yield from enumerate(value)
    elif type(value).__module__.startswith("multibody_dynamics."):
        yield from vars(value).items() if hasattr(value, "__dict__") else ()


def instance(made: type) -> Any:
    if issubclass(made, core.NeverCopied):
        return object.__new__(made)
    if example := EXAMPLES.get(made.__name__):
        return example()
    if made in in_arms():
        return in_arms()[made]
    signature = inspect.signature(made).parameters.values()
    needed = [each.name for each in signature if each.default is each.empty]
    try:
        return made(**{name: ARGUMENTS[name] for name in needed})
    except (KeyError, ValueError):
        if not is_dataclass(made):
            raise
    record = object.__new__(made)  # without its checks
    for each in fields(made):
        value = ARGUMENTS.get(each.name, np.arange(3.0))
        record.__dict__[each.name] = value if each.default is MISSING else each.default
    return record


def structure(root: Any) -> dict[str, tuple[Any, ...]]:
    """Of every array: where in whose memory it lies, if that memory can be written."""
    owners: dict[int, str] = {}
    found = {}
    for way, array in parts(root):
        if isinstance(array, np.ndarray) and array.size:
            owner = array
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            place: tuple[Any, ...] = ()
            if owner.flags.writeable:
                first = owners.setdefault(id(owner), way)
                place = first, array.ctypes.data - owner.ctypes.data, array.strides
            found[way] = array.shape, array.dtype, array.flags.writeable, *place
    return found


def keeps_structure(twin: Any, x: Any) -> bool:
    """Whether the arrays of a copy have the same relations; what is cached need not be in it."""
    own, others = structure(x), structure(twin)
    return all(others.get(way, place)[: len(place)] == place for way, place in own.items())


def buffers(root: Any) -> set[int]:
    return {
        each.__array_interface__["data"][0]
        for _, each in parts(root)
        if isinstance(each, np.ndarray) and each.size and each.flags.writeable
    }


# What is handed to `update`, `step` and calls, by the names of their parameters.
ROWS: dict[str, Any] = {
    "q": REST, "qd": np.array([0.1, 0.2]), "qdd": np.array([0.3, -0.2]),
    "qddd": np.array([1.0, 2.0]), "qdddd": np.array([3.0, 1.0]), "tau": np.array([2.0, 1.0]),
    "theta": REST + 0.02, "thetad": np.array([0.1, 0.1]), "torque": np.array([1.0, 2.0]),
    "motor_torque": np.array([1.0, 2.0]), "desired": np.ones((5, N)), "dt": 1e-3, "step": 1e-3,
    "duration": 1e-2, "t": 0.3, "time": 0.3, "value": np.array([0.5, 0.1]),
    "links": (REST, np.array([0.1, 0.2])), "motors": (REST + 0.02, np.array([0.1, 0.1])),
    "motion": np.ones((4, 3, N)), "external": np.zeros(N), "phi": np.array(0.1),
}  # fmt: skip


def drive(x: Any) -> dict[str, Any]:
    """Let it do something; the numbers in it afterwards, and its answers."""
    rng, answers = np.random.default_rng(5), []
    if isinstance(x, control.Arm):
        rest = at_start(Robot(x.model, x.actuators, REST))[0]
        q, theta = (rng.normal(row, 1e-3, (20, row.size)) for row in (rest[0], rest[2]))
        begin = 1e-9 * x.times.answered
        for k in range(20):
            answers.append(x.update(sample_of(x, begin + 1e-3 * k, q[k], theta[k])).torque)
    else:
        if isinstance(x, core.IndependentCopies):
            for name, array in sorted(vars(x).items()):
                is_row = isinstance(array, np.ndarray) and array.dtype == float
                if is_row and name[0] != "_" and array.flags.writeable:
                    array[...] = rng.uniform(0.1, 0.3, array.shape)
        for name in ("update", "step", "advance", "evaluate", "__call__"):
            if not callable(method := getattr(x, name, None)):
                continue
            signature = inspect.signature(method).parameters.values()
            needed = [each.name for each in signature if each.default is each.empty]
            if all(each in ROWS for each in needed):
                try:
                    answers.append(method(*(ROWS[each] for each in needed)))
                except (ValueError, TypeError) as error:  # not these rows
                    answers.append(str(error))
    found = parts((answers, x))
    return {way: each.copy() for way, each in found if isinstance(each, np.ndarray)}


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """What is cached may be in one only."""
    assert [way for way in first if way[:2] == ".0"] == [way for way in second if way[:2] == ".0"]
    return all(
        np.array_equal(first[way], second[way], equal_nan=first[way].dtype.kind in "fc")
        for way in first.keys() & second
    )


def unpickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": unpickled}


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.__name__)
def test_a_copy_is_whole_and_independent_or_refused(made):
    x = instance(made)
    for how, duplicate in COPIES.items():
        if isinstance(x, core.NeverCopied):
            with pytest.raises(TypeError, match=f"{made.__name__} objects cannot be copied or pic"):
                duplicate(x)
        elif how != "copy" or isinstance(x, core.IndependentCopies):  # others share their values
            twin = duplicate(x)
            assert type(twin) is type(x)
            assert keeps_structure(twin, x)
            assert buffers(twin).isdisjoint(buffers(x))
            assert same(drive(twin), drive(x))


@pytest.mark.parametrize("law", [*LAW_TABLE, "variable stiffness", "antagonistic"])
def test_the_copy_of_an_arm_goes_on_where_the_arm_is(law):
    arm = arms()[law]
    for duplicate in COPIES.values():
        twin = duplicate(arm)
        assert keeps_structure(twin, arm)
        assert buffers(twin).isdisjoint(buffers(arm))
        assert same(drive(twin), drive(arm))


def driven(name: str, pickled: bytes) -> tuple[str, dict[str, Any]]:
    """Runs in another process."""
    return name, drive(pickle.loads(pickled))


def test_another_process_computes_the_same_with_every_class():
    made = {each.__name__: each for each in CLASSES if not issubclass(each, core.NeverCopied)}
    sent = {name: pickle.dumps(instance(each)) for name, each in made.items()}
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        for name, numbers in process.map(driven, sent, sent.values()):
            assert same(numbers, drive(pickle.loads(sent[name]))), name


def test_objects_that_share_arrays_still_share_them_in_a_common_copy():
    solver = dyn.InverseDynamicsSolver(MODEL)
    springs = elastic.MotorFeedforward(ACTUATORS, solver.state, solver.result)
    for duplicate in (copy.deepcopy, unpickled):
        other, motors = duplicate((solver, springs))
        other.state[:] = np.random.default_rng(1).uniform(-1.0, 1.0, (5, N))
        other.update()
        expected = elastic.motor_motion(ACTUATORS, other.state, np.array(other.result))
        np.testing.assert_allclose(motors.update().torque, expected.torque, rtol=1e-12)


def test_a_copy_of_a_copy_from_a_pickle_is_whole():
    """NumPy restores arrays in the memory of the pickle."""
    twin = unpickled(unpickled(dyn.InverseDynamicsSolver(MODEL)))
    rows = np.random.default_rng(2).uniform(-1.0, 1.0, (5, N))
    np.testing.assert_allclose(twin(*rows), dyn.inverse_dynamics(MODEL, *rows)[:3], rtol=1e-12)


def test_the_copy_of_a_specialised_solver_is_specialised_and_right():
    solver = dyn.InverseDynamicsSolver(MODEL, specialise=True)
    assert solver.wait(60.0) == "specialised"
    rows = np.random.default_rng(3).uniform(-1.0, 1.0, (5, N))
    for duplicate in COPIES.values():
        twin = duplicate(solver)
        assert twin.wait(60.0) == "specialised"
        np.testing.assert_allclose(twin(*rows), np.array(solver(*rows)), rtol=1e-9)
