"""[M21] Algorithm 3: Q, Q' and Q'' against first principles, other routes, and its own promises."""

from __future__ import annotations

import sys
import tracemalloc
from dataclasses import replace

import mpmath as mp
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.compilation import IS_COMPILED
from reference import DIGITS, dynamics, error, exact, motion, moved_by
from robots import panda, random_tree, to_pinocchio, with_multidof

SEEDS = st.integers(0, 2**32 - 1)
ROWS = ("q", "qd", "qdd", "qddd", "qdddd")


def random_states(model, *batch, seed=1):
    return np.random.default_rng(seed).normal(size=(5, *batch, model.n))


def mounted(robot, carrier):
    """One robot: `robot` standing on the last body of `carrier`."""
    last = carrier.n - 1
    at_zero = carrier.poses[last]
    return dyn.model_from_screws(
        [*carrier.parents, *np.where(robot.parents < 0, last, robot.parents + carrier.n)],
        [*carrier.screws, *(se3.Ad(at_zero) @ robot.screws[..., None])[..., 0]],
        [*carrier.poses, *at_zero @ robot.poses],
        [*carrier.inertias, *robot.inertias],
        gravity=robot.gravity,
    )


def random_wrenches(model, *batch, seed=2):
    """On the first and on the last body, with rates."""
    values = 5 * np.random.default_rng(seed).normal(size=(2, *batch, 3, 6))
    return {model.body_names[0]: values[0], model.body_names[model.n - 1]: values[1]}


def by_index(model, wrenches):
    return {model.body_index(body): W for body, W in wrenches.items()}


def random_base(seed, *batch):
    rng = np.random.default_rng(seed)
    return dyn.BaseMotion(se3.exp(rng.normal(size=(*batch, 6))), *rng.normal(size=(4, *batch, 6)))


def series_of(base):
    return moved_by(base.pose, [base.twist, base.acceleration, base.jerk, base.jounce])


def worst(result, expected):
    return max(error(part, whole) for part, whole in zip(result, expected, strict=True))


# First principles


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 7), st.sampled_from([1.0, 10.0]))
def test_torques_and_rates_from_first_principles(seed, n, speed):
    """Trees of every joint, gravity from anywhere, rotors, wrenches with rates, a moving base."""
    rng = np.random.default_rng(seed)
    model = random_tree(n, seed, gravity=rng.normal(scale=9, size=3))
    model = model.with_reflected_inertia(rng.uniform(0, 2, n))
    state = random_states(model, seed=seed) * speed ** np.arange(5)[:, None]
    wrenches, base = random_wrenches(model, seed=seed), random_base(seed)
    result = dyn.inverse_dynamics(model, *state, wrenches=wrenches, base=base)
    expected = dynamics(model, state, by_index(model, wrenches), series_of(base))
    assert worst(result, expected.torques) < 1e-12


@pytest.mark.parametrize("robot", [panda, with_multidof], ids=lambda robot: robot.__name__)
def test_robots_with_fixed_links_and_with_massless_bodies(robot):
    model = robot()
    state, wrenches = random_states(model), random_wrenches(model)
    result = dyn.inverse_dynamics(model, *state, wrenches=wrenches)
    assert worst(result, dynamics(model, state, by_index(model, wrenches)).torques) < 1e-12


def aligned_model(seed, n=5):
    """A tree whose every number is a small multiple of a power of two: exact in float64."""
    rng = np.random.default_rng(seed)
    eighths = lambda *shape: rng.integers(-8, 9, shape) / 8  # noqa: E731
    parents = [-1, *(int(rng.integers(-1, i)) for i in range(1, n))]
    screws, poses, bodies = [], [], []
    for i in range(n):
        axis, kind = rng.permutation(np.diag([1.0, -1.0, 1.0]))[0], i % 3
        point = np.cross(eighths(3), axis)
        pitch = [0, 0.25][kind == 1] * axis
        screws.append(np.r_[0 * axis, axis] if kind == 2 else np.r_[axis, point + pitch])
        turn = rng.permutation(np.eye(3))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn * np.linalg.det(turn), eighths(3)
        poses.append(pose)
        B = eighths(3, 3)
        particle_moments = B @ B.T
        about_com = np.trace(particle_moments) * np.eye(3) - particle_moments
        bodies.append(dyn.spatial_inertia(2.0 ** rng.integers(-2, 3), eighths(3), about_com))
    return dyn.model_from_screws(parents, screws, poses, bodies, gravity=(1.25, -2.5, -9.75))


@pytest.mark.parametrize("seed", range(4))
def test_the_recursion_is_exact(seed):
    """Over 40-digit numbers it agrees to 33 digits: no term is missing, however small."""
    model = aligned_model(seed).with_reflected_inertia([0, 1, 0.5, 0, 2])
    state, wrenches = random_states(model, seed=seed), random_wrenches(model)
    exactly = {body: exact(W) for body, W in wrenches.items()}
    result = dyn.generic_inverse_dynamics(
        model, *exact(state), wrenches=exactly, sin=mp.sin, cos=mp.cos
    )
    expected = dynamics(model, state, by_index(model, wrenches))
    assert worst(result, expected.torques) < 10.0 ** (7 - DIGITS)
    compiled = dyn.inverse_dynamics(model, *state, wrenches=wrenches)
    assert worst(compiled, expected.torques) < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_every_inertial_parameter_of_every_body_counts_by_itself(seed):
    """Mass, first moments and the six moments of inertia: each adds what its particles need."""
    model = random_tree(4, seed)
    state = random_states(model, seed=seed)
    before, moving = np.array(dyn.inverse_dynamics(model, *state)), motion(model, state)
    for body in range(model.n):
        for k in range(10):
            change = np.zeros((model.n, 6, 6))
            change[body] = unit_inertia(k)
            changed = replace(model, link_inertias=model.link_inertias + change / 1024)
            difference = np.array(dyn.inverse_dynamics(changed, *state)) - before
            expected = dynamics(model, state, inertias=change / 1024, moving=moving).torques
            scale = np.abs(before).max(axis=1)
            assert (np.abs(difference - expected).max(axis=1) < 1e-13 * scale).all(), (body, k)
            if body == model.n - 1 and model.joint_types[body] != "prismatic":
                assert (np.abs(expected).max(axis=1) > 1e-9 * scale).all(), (body, k)


def unit_inertia(k):
    """The spatial inertia that is linear in parameter k: m, m c, I_xx I_xy I_xz I_yy I_yz I_zz."""
    M = np.zeros((6, 6))
    if k == 0:
        M[3:, 3:] = np.eye(3)
    elif k < 4:
        M[:3, 3:] = dyn.so3.hat(np.eye(3)[k - 1])
        M[3:, :3] = -M[:3, 3:]
    else:
        i, j = np.transpose(np.triu_indices(3))[k - 4]
        M[i, j] = M[j, i] = 1
    return M


def test_rotors_feel_the_joint_motion_only():
    model = random_tree(6, 1)
    rotors = np.arange(1.0, model.n + 1)
    state = random_states(model)
    plain = dyn.inverse_dynamics(model, *state)
    geared = dyn.inverse_dynamics(model.with_reflected_inertia(rotors), *state)
    for k, (with_rotors, without) in enumerate(zip(geared, plain, strict=True)):
        np.testing.assert_allclose(with_rotors - without, rotors * state[2 + k], atol=1e-11)


# Other routes


@pytest.mark.parametrize("seed", range(8))
def test_pinocchio_agrees_on_the_torque(seed):
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.1))
    twin = to_pinocchio(model)
    data = twin.model.createData()
    for q, qd, qdd in np.swapaxes(random_states(model, 5, seed=seed)[:3], 0, 1):
        expected = twin.from_pin(pin.rnea(twin.model, data, *map(twin.to_pin, (q, qd, qdd))))
        assert error(dyn.inverse_dynamics(model, q, qd, qdd).tau, expected) < 1e-12


@settings(max_examples=8)
@given(SEEDS)
def test_complex_steps_along_the_motion_give_the_rates(seed):
    model = random_tree(6, seed)
    state = random_states(model, seed=seed)
    wrenches = random_wrenches(model, seed=seed)
    result = dyn.inverse_dynamics(model, *state, wrenches=wrenches)
    h = 1e-30
    ahead = [a + 1j * h * b for a, b in zip(state, [*state[1:], 0 * state[0]], strict=True)]
    moved = {
        body: [W[0] + 1j * h * W[1], W[1] + 1j * h * W[2], W[2]] for body, W in wrenches.items()
    }
    stepped = dyn.generic_inverse_dynamics(model, *ahead, wrenches=moved)
    slopes = np.vectorize(lambda z: complex(z).imag / h)(stepped)
    assert worst(slopes[:2], result[1:]) < 1e-12


def test_a_pendulum_by_hand():
    """Q = (I + m l^2) q'' + m g l sin q, differentiated twice on paper."""
    m, length, inertia, g = 1.7, 0.6, 0.3, 9.81
    body = dyn.spatial_inertia(m, (0, 0, -length), np.diag([0.2, inertia, 0.1]))
    model = dyn.model_from_screws([-1], [[0, 1, 0, 0, 0, 0]], [np.eye(4)], [body])
    q, q1, q2, q3, q4 = 0.7, -1.1, 0.4, 2.0, -3.0
    J, w, s, c = inertia + m * length**2, m * g * length, np.sin(q), np.cos(q)
    by_hand = (
        J * q2 + w * s,
        J * q3 + w * c * q1,
        J * q4 + w * (c * q2 - s * q1**2),
    )
    result = dyn.inverse_dynamics(model, [q], [q1], [q2], [q3], [q4])
    assert worst(result, np.array(by_hand)[:, None]) < 1e-14


# Wrenches that the joints transmit, and a moving base


@settings(max_examples=10)
@given(SEEDS)
def test_every_body_by_itself_is_in_balance(seed):
    """What a body gets from its joint and the world, less what it hands on, is what it needs."""
    model = random_tree(6, seed)
    state, wrenches, base = random_states(model, seed=seed), random_wrenches(model), random_base(1)
    W = dyn.interbody_wrenches(model, *state, wrenches=wrenches, base=base)
    assert W.shape == (model.n, 3, 6)
    expected = dynamics(model, state, by_index(model, wrenches), series_of(base))
    assert error(W, np.swapaxes(expected.transmitted, 0, 1)) < 1e-12
    net = W.copy()
    for i, parent in enumerate(model.parents):
        if parent >= 0:
            net[parent] -= W[i]
    for body, applied in wrenches.items():
        net[model.body_index(body)] += applied
    size = np.abs(W).max(axis=(0, 2))[:, None]
    assert (np.abs(net - np.swapaxes(expected.needed, 0, 1)) < 1e-12 * size).all()
    reaction = W[model.parents < 0].sum(axis=0) + sum(wrenches.values())
    momentum_rate = expected.needed.sum(axis=1)
    assert (np.abs(reaction - momentum_rate) < 1e-12 * size).all()


@pytest.mark.parametrize("given", [3, 4, 5])
def test_transmitted_wrenches_have_as_many_rates_as_are_determined(given):
    model = random_tree(6, 2)
    state = random_states(model, 4)
    W = dyn.interbody_wrenches(model, *state[:given])
    assert W.shape == (4, model.n, given - 2, 6)
    full = dyn.interbody_wrenches(model, *state)
    assert error(W, full[..., : given - 2, :]) < 1e-15
    single = dyn.interbody_wrenches(model, *state[:given, 2])
    assert error(W[2], single) < 1e-15


@pytest.mark.parametrize("seed", range(4))
def test_a_moving_base_is_a_chain_of_joints_before_the_robot(seed):
    robot, carrier = random_tree(6, seed), random_tree(3, seed + 50)
    whole = mounted(robot, carrier)
    state = random_states(whole, 3, seed=seed)
    carried = dyn.forward_kinematics(carrier, *state[..., : carrier.n])
    base = dyn.BaseMotion(*(x[:, -1] for x in carried))
    result = dyn.inverse_dynamics(robot, *state[..., carrier.n :], base=base)
    full = dyn.inverse_dynamics(whole, *state)
    assert worst(result, [part[..., carrier.n :] for part in full]) < 1e-12
    W = dyn.interbody_wrenches(robot, *state[..., carrier.n :], base=base)
    assert error(W, dyn.interbody_wrenches(whole, *state)[:, carrier.n :]) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_a_wrench_in_the_hand_of_a_robot_on_a_moving_base(seed):
    robot, carrier = random_tree(6, seed), random_tree(3, seed + 50)
    whole = mounted(robot, carrier)
    state = random_states(whole, 4, seed=seed)
    own, hand = state[..., carrier.n :], robot.n - 1
    carried = dyn.forward_kinematics(carrier, *state[..., : carrier.n])
    base = dyn.BaseMotion(*(x[:, -1] for x in carried))
    in_hand = 5 * np.random.default_rng(seed).normal(size=(4, 3, 6))
    W = dyn.wrench_to_world(robot, *own[:3], hand, in_hand, base=base)
    result = dyn.inverse_dynamics(robot, *own, wrenches={robot.body_names[hand]: W}, base=base)
    hand += carrier.n
    W = dyn.wrench_to_world(whole, *state[:3], hand, in_hand)
    full = dyn.inverse_dynamics(whole, *state, wrenches={whole.body_names[hand]: W})
    assert worst(result, [part[..., carrier.n :] for part in full]) < 1e-12


def test_a_base_that_falls_freely_carries_no_weight():
    model = random_tree(6, 3)
    q = random_states(model)[0]
    falling = dyn.BaseMotion(acceleration=[0, 0, 0, *model.gravity])
    zero = np.zeros(model.n)
    tau = dyn.inverse_dynamics(model, q, zero, zero, base=falling).tau
    assert np.abs(tau).max() < 1e-13 * np.abs(dyn.gravity_forces(model, q)).max()


# Batches and arguments


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
def test_batches_hold_single_results(shape):
    model = random_tree(6, 4)
    state, wrenches = random_states(model, *shape), random_wrenches(model, *shape)
    base = random_base(5, *shape)
    result = dyn.inverse_dynamics(model, *state, wrenches=wrenches, base=base)
    assert all(part.shape == (*shape, model.n) for part in result)
    assert dyn.interbody_wrenches(model, *state).shape == (*shape, model.n, 3, 6)
    for index in np.ndindex(shape):
        single = dyn.inverse_dynamics(
            model,
            *(row[index] for row in state),
            wrenches={body: W[index] for body, W in wrenches.items()},
            base=dyn.BaseMotion(**{name: x[index] for name, x in vars(base).items()}),
        )
        assert worst(single, [part[index] for part in result]) < 1e-15


def test_arguments_broadcast():
    model = random_tree(6, 6)
    q, others = random_states(model, 3, 1)[0], random_states(model, 4)[1:]
    W = np.random.default_rng(7).normal(size=(2, 1, 1, 3, 6))
    result = dyn.inverse_dynamics(model, q, *others, wrenches={"body1": W})
    assert result.tau.shape == (2, 3, 4, model.n)
    for i, j, k in np.ndindex(2, 3, 4):
        single = dyn.inverse_dynamics(model, q[j, 0], *others[:, k], wrenches={"body1": W[i, 0, 0]})
        assert worst(single, [part[i, j, k] for part in result]) < 1e-15


@pytest.mark.parametrize("given", [3, 4, 5])
def test_what_the_input_does_not_determine_is_none(given):
    model = random_tree(6, 8)
    state = random_states(model)
    full = dyn.inverse_dynamics(model, *state)
    result = dyn.inverse_dynamics(model, *state[:given])
    assert [part is None for part in result] == [k + 3 > given for k in range(3)]
    assert worst(result[: given - 2], full[: given - 2]) < 1e-15


def test_all_representations_give_one_torque():
    model = random_tree(6, 9)
    state = random_states(model)
    spatial = dyn.inverse_dynamics(model, *state)
    for name in dyn.REPRESENTATIONS:
        assert worst(dyn.inverse_dynamics(model, *state, representation=name), spatial) < 1e-13


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_number_in_any_row_is_named_with_its_joint(row, bad):
    model = random_tree(5, 10)
    state = dict(zip(ROWS, random_states(model, 2), strict=True))
    state[row][1, 3] = bad
    message = rf"{row}\[1, 3\] \(joint '{model.joint_names[3]}'\) is {bad}"
    with pytest.raises(dyn.InputError, match=message):
        dyn.inverse_dynamics(model, **state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": None}, "without q"),
        ({"qdd": None}, "qdddd was given without qdd"),
        ({"qddd": None}, "qdddd was given without qddd"),
        ({"qdd": None, "qddd": None, "qdddd": None}, "inverse dynamics needs qdd"),
        ({"q": np.zeros(4)}, r"q: expected shape \(..., 5\).*got \(4,\)"),
        ({"q": 0.0}, "q: expected shape"),
        ({"q": [0.0]}, "q: expected shape"),
        ({"qd": np.zeros(5) * 1j}, "qd: expected real numbers, got an array of complex128"),
        ({"qd": np.zeros(5, dtype=object)}, "qd: expected real numbers, got an array of object"),
        ({"qd": ["a"] * 5}, "qd: expected real numbers"),
        ({"qd": [[0.0] * 5, [0.0] * 4]}, "qd: not an array of numbers"),
        ({"q": np.zeros((2, 5)), "qd": np.zeros((3, 5))}, r"q \(2,\), qd \(3,\)"),
        ({"representation": "world"}, "spatial, body, hybrid, mixed"),
        ({"base": dyn.BaseMotion(twist=np.zeros(5))}, "base.twist"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_named(change, message):
    arguments = dict(zip(ROWS, np.zeros((5, 5)), strict=True)) | change
    for function in (dyn.inverse_dynamics, dyn.interbody_wrenches):
        if function is dyn.inverse_dynamics or "representation" not in change:
            with pytest.raises(dyn.InputError, match=message):
                function(random_tree(5, 11), **arguments)


def test_integers_and_single_precision_are_taken():
    model = random_tree(6, 12)
    whole = np.arange(5 * model.n).reshape(5, model.n) % 4
    expected = dyn.inverse_dynamics(model, *whole.astype(float))
    for kind in (np.int64, np.int8, np.float32):
        assert worst(dyn.inverse_dynamics(model, *whole.astype(kind)), expected) == 0
    assert worst(dyn.inverse_dynamics(model, *whole.tolist()), expected) == 0


def test_arguments_are_never_written_to():
    """Nor must they be contiguous or writeable."""
    model = random_tree(6, 13)
    wide = random_states(model, 6)
    wrenches, base = random_wrenches(model), random_base(14)
    arrays = [wide, *wrenches.values(), *vars(base).values()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    strided = wide[:, ::-2]
    result = dyn.inverse_dynamics(model, *strided, wrenches=wrenches, base=base)
    plain = dyn.inverse_dynamics(model, *strided.copy(), wrenches=wrenches, base=base)
    assert worst(result, plain) == 0
    for part in result:
        part[...] = 7  # the results are the caller's own
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


# Any scalars


@pytest.mark.parametrize("count", [1, 2, 5])
def test_generic_over_arrays_is_a_batch(count):
    model = random_tree(6, 15)
    state = random_states(model, count)
    expected = dyn.inverse_dynamics(model, *state)
    result = dyn.generic_inverse_dynamics(model, *np.swapaxes(state, 1, 2))
    assert result.shape == (3, model.n)
    for part, whole in zip(result, expected, strict=True):
        assert error(np.array(list(part)).T, whole) < 1e-13


def test_generic_over_floats_is_the_compiled_one():
    model = random_tree(6, 16)
    state, wrenches = random_states(model), random_wrenches(model)
    expected = dyn.inverse_dynamics(model, *state, wrenches=wrenches)
    result = dyn.generic_inverse_dynamics(model, *state, wrenches=wrenches)
    assert worst(result.astype(float), expected) < 1e-13


@pytest.mark.parametrize("given", [3, 4, 5])
def test_generic_returns_what_the_input_determines(given):
    model = random_tree(6, 16)
    state, wrenches = random_states(model), random_wrenches(model)
    result = dyn.generic_inverse_dynamics(model, *state[:given], wrenches=wrenches)
    full = dyn.inverse_dynamics(model, *state, wrenches=wrenches)
    assert result.shape == (given - 2, model.n)
    assert worst(result.astype(float), full[: given - 2]) < 1e-13


@pytest.mark.parametrize("missing", ROWS[:4])
def test_generic_refuses_gaps(missing):
    model = random_tree(6, 16)
    rows = dict(zip(ROWS, random_states(model), strict=True)) | {missing: None}
    with pytest.raises(dyn.InputError, match=f"needs {missing}; given: .*qdddd"):
        dyn.generic_inverse_dynamics(model, **rows)


def test_generic_refuses_wrong_lengths_and_names():
    model = random_tree(6, 17)
    state = random_states(model)
    with pytest.raises(dyn.InputError, match="qd: expected"):
        dyn.generic_inverse_dynamics(model, state[0], state[1][:-1], state[2])
    with pytest.raises(dyn.InputError, match="nobody"):
        dyn.generic_inverse_dynamics(model, *state, wrenches={"nobody": np.zeros((3, 6))})


# The solver of the control cycle


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_solver_equals_the_function(n):
    model = random_tree(n, n).with_reflected_inertia(np.full(n, 0.3))
    solver = dyn.InverseDynamicsSolver(model)
    for seed in range(5):
        state = random_states(model, seed=seed)
        expected = dyn.inverse_dynamics(model, *state)
        assert worst(solver(*state), expected) < 1e-15
        solver.result[:] = np.nan
        solver.state[:] = state
        solver.update()
        assert worst(solver.result, expected) < 1e-15


def test_solver_works_in_the_same_memory_for_ever():
    model = random_tree(6, 18)
    solver = dyn.InverseDynamicsSolver(model)
    state, result = solver.state, solver.result
    first = solver(*random_states(model))
    addresses = [array.ctypes.data for array in (state, result, *first)]
    second = solver(*random_states(model, seed=2))
    assert solver.state is state
    assert solver.result is result
    assert [x.ctypes.data for x in (solver.state, solver.result, *second)] == addresses
    assert (state.shape, result.shape) == ((5, model.n), (3, model.n))
    assert all(np.shares_memory(part, result) for part in second)
    np.testing.assert_array_equal(state, random_states(model, seed=2))
    np.testing.assert_array_equal(result, np.array(first))


def test_solver_takes_wrenches_and_tells_those_between_the_bodies():
    model = random_tree(6, 19)
    solver = dyn.InverseDynamicsSolver(model)
    state, wrenches = random_states(model), random_wrenches(model)
    for body, W in wrenches.items():
        solver.applied_wrenches[model.body_index(body)] = W
    for _ in range(2):  # they stay as they were set
        assert worst(solver(*state), dyn.inverse_dynamics(model, *state, wrenches=wrenches)) < 1e-15
    transmitted = dyn.interbody_wrenches(model, *state, wrenches=wrenches)
    assert error(solver.interbody_wrenches, transmitted) < 1e-15
    solver.applied_wrenches[:] = 0
    assert worst(solver(*state), dyn.inverse_dynamics(model, *state)) < 1e-15


def test_solver_takes_the_motion_of_the_base():
    model = random_tree(6, 19)
    solver = dyn.InverseDynamicsSolver(model)
    state, base = random_states(model), random_base(20)
    solver.set_base(base)
    expected = dyn.inverse_dynamics(model, *state, base=base)
    for _ in range(2):  # it stays as it was set
        assert worst(solver(*state), expected) < 1e-15
    for bad in (random_base(21, 1), dyn.BaseMotion(twist=np.full(6, np.nan))):
        with pytest.raises(dyn.InputError, match="base"):
            solver.set_base(bad)
    assert worst(solver(*state), expected) < 1e-15
    assert worst(solver(*state), dyn.inverse_dynamics(model, *state)) > 1e-3
    solver.set_base(None)
    assert worst(solver(*state), dyn.inverse_dynamics(model, *state)) < 1e-15


def test_solvers_do_not_share_anything():
    models = [random_tree(6, 20), random_tree(6, 21)]
    solvers = [dyn.InverseDynamicsSolver(model) for model in (*models, models[0])]
    states = [random_states(model, seed=k) for k, model in enumerate((*models, models[0]))]
    solvers[2].applied_wrenches[:] = 1
    for solver, state in zip(solvers, states, strict=True):
        solver(*state)
    for solver, state in zip(solvers[:2], states, strict=False):
        assert worst(solver.result, dyn.inverse_dynamics(solver.model, *state)) < 1e-15


def test_solver_takes_what_the_function_takes():
    model = random_tree(6, 22)
    solver = dyn.InverseDynamicsSolver(model)
    whole = np.arange(5 * model.n).reshape(5, model.n) % 4
    expected = dyn.inverse_dynamics(model, *whole)
    read_only = whole.astype(float)
    read_only.flags.writeable = False
    strided = np.repeat(whole.astype(float), 2, axis=1)[:, ::2]
    variants = (
        whole, whole.tolist(), whole.astype(np.float32), whole.astype(">f8"), read_only, strided,
        np.asfortranarray(whole.astype(float)), [read_only[0], *whole[1:].tolist()],
    )  # fmt: skip
    for rows in variants:
        solver.result[:] = np.nan
        assert worst(solver(*rows), expected) == 0
    solver.state[:] = whole
    assert worst(solver(*solver.state), expected) == 0


@pytest.mark.parametrize("last", [np.asarray, list])  # a list is not for machine code
def test_solver_takes_its_own_state_in_another_order(last):
    model = random_tree(6, 22)
    solver = dyn.InverseDynamicsSolver(model)
    state, order = random_states(model), [1, 0, 4, 2, 3]
    solver.state[:] = state
    result = solver(*solver.state[order])  # a copy
    expected = np.array(result)
    solver.state[:] = state
    *rows, row = (solver.state[k] for k in order)
    result = solver(*rows, last(row))
    np.testing.assert_array_equal(solver.state, state[order])
    np.testing.assert_array_equal(result, expected)
    before = solver.state.copy()
    with pytest.raises(dyn.InputError, match="qdddd"):
        solver(*solver.state[3::-1], np.full(model.n, np.nan))
    np.testing.assert_array_equal(solver.state, before)


BAD_ROWS = {
    "scalar": 0.0,
    "one number": np.zeros(1),
    "one number in a list": [0.0],
    "empty": np.zeros(0),
    "short": np.zeros(4),
    "long": np.zeros(6),
    "column": np.zeros((5, 1)),
    "batch of one": np.zeros((1, 5)),
    "batch": np.zeros((5, 5)),
    "none": None,
    "nan": np.array([0, 0, np.nan, 0, 0]),
    "inf in a list": [0, 0, 0, 0, np.inf],
    "inf in float32": np.full(5, np.inf, dtype=np.float32),
    "complex": np.zeros(5) * 1j,
    "objects": np.zeros(5, dtype=object),
    "text": ["0"] * 5,
    "ragged": [[1, 2], [3], 0, 0, 0],
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", BAD_ROWS)
def test_solver_refuses_bad_rows_and_stays_as_it_was(row, name):
    model = random_tree(5, 23)
    solver = dyn.InverseDynamicsSolver(model)
    solver(*random_states(model))
    before = solver.state.copy(), solver.result.copy()
    rows = dict(zip(ROWS, random_states(model, seed=2), strict=True))
    rows[row] = BAD_ROWS[name]
    with pytest.raises(dyn.InputError, match=rf"^{row}\b"):
        solver(**rows)
    np.testing.assert_array_equal(solver.state, before[0])
    np.testing.assert_array_equal(solver.result, before[1])


def test_solver_of_one_joint_refuses_a_scalar():
    solver = dyn.InverseDynamicsSolver(random_tree(1, 24))
    with pytest.raises(dyn.InputError, match=r"qd: expected shape"):
        solver([0.1], 0.2, [0.3], [0.4], [0.5])


def test_solver_forgets_a_bad_state():
    """update() checks nothing; what it made of NaN is gone with the next state."""
    model = random_tree(6, 25)
    solver = dyn.InverseDynamicsSolver(model)
    solver.state[:] = np.nan
    solver.update()
    assert np.isnan(solver.result).all()
    state = random_states(model)
    assert worst(solver(*state), dyn.inverse_dynamics(model, *state)) < 1e-15


def test_solver_refuses_an_unknown_representation():
    with pytest.raises(dyn.InputError, match="spatial, body, hybrid, mixed"):
        dyn.InverseDynamicsSolver(random_tree(6, 26), representation="world")


@pytest.mark.parametrize("way", ["update", "call"])
def test_solver_allocates_nothing_that_stays(way):
    model = random_tree(6, 27)
    solver = dyn.InverseDynamicsSolver(model)
    rows = tuple(random_states(model))
    cycle = solver.update if way == "update" else lambda: solver(*rows)
    owned = [solver.state, solver.result, solver.applied_wrenches, model.joint_rows, *rows]

    def run(times):
        for _ in range(times):
            cycle()

    run(100)
    counts = [sys.getrefcount(array) for array in owned]
    native = native_allocations()
    tracemalloc.start()
    run(100)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    run(10_000)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 64
    assert peak - before < 1024  # the frames of the calls; an array of this robot has 200 bytes
    assert [sys.getrefcount(array) for array in owned] == counts
    assert native_allocations() == native


def native_allocations():
    """How many blocks Numba's own memory manager holds."""
    if not IS_COMPILED:
        return 0
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    stats = rtsys.get_allocation_stats()
    return stats.alloc - stats.free, stats.mi_alloc - stats.mi_free


def test_the_buffers_of_a_solver_cannot_be_replaced():
    solver = dyn.InverseDynamicsSolver(random_tree(3, seed=1))
    with pytest.raises(AttributeError, match=r"write into it: solver\.state\[:\]"):
        solver.state = np.ones((5, 3))
    solver.state[:] = 1.0
