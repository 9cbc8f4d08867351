# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Optimal exciting motions of the UR10e against the published ones: log det, in a minute.

The published motions come with the data set of shamilmamedov/dynamic_calibration (UR10e, pattern
search for the condition number; Fourier series plus polynomials of degree 5, from rest to rest).
Ours have the same number of harmonics, the same base frequency, the same duration from rest to
rest, including the ramps, and the limits stored with the published motions. Both are evaluated at
100 Hz with the same 58 parameters: base parameters with rotors, viscous and Coulomb friction and an
offset of each joint, with 1 N m of noise in each. "worst" is the largest use of a position, speed,
or acceleration limit on this grid, "condition" the condition number of the observation matrix.

The folder with the files (ptrnSrch_*QR.mat of trajectory_optmzn/optimal_trjctrs) is an argument, or
logs/ur10e/optimal_trajectories below $MULTIBODY_DYNAMICS_SHARED.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from multibody_dynamics import dynamics as dyn

Array = NDArray[np.float64]
idn = dyn.identification

RATE = 100.0  # Hz
RAMP = 1.0  # s
SECONDS = 45.0  # for the optimisation; the rest of the minute is for start, checks and exit
SHARED = Path(os.environ.get("MULTIBODY_DYNAMICS_SHARED", "../shared"))
FOLDER = SHARED / "logs/ur10e/optimal_trajectories"
URDF = SHARED / "logs/ur10e/ur10e.urdf"


class Published(NamedTuple):
    """A published motion: its states (k, 3, 6) at RATE, its limits, period and harmonics."""

    states: Array
    limits: dict[str, Array]
    period: float
    harmonics: int


def published(file: Path) -> Published:
    """Read a motion: q = polynomial + sum a / (l w) sin(l w t) - b / (l w) cos(l w t)."""
    data = loadmat(file, squeeze_me=True)
    given = {name: data["traj_par"][name].item() for name in data["traj_par"].dtype.names}
    period, count = float(given["T"]), data["a"].shape[1]
    t = np.linspace(0.0, period, int(period * RATE) + 1)
    w = 2.0 * np.pi / period * np.arange(1, count + 1)
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    a, b = data["a"].T, data["b"].T
    rows = [
        sine / w @ a - cosine / w @ b,
        cosine @ a + sine @ b,
        -sine * w @ a + cosine * w @ b,
    ]
    for j, row in enumerate(data["c_pol"]):
        polynomial = np.polynomial.Polynomial(row)
        for order in range(3):
            rows[order][:, j] += (polynomial.deriv(order) if order else polynomial)(t)
    limits = {
        name: np.asarray(given[key], dtype=np.float64)
        for name, key in (
            ("lower", "q_min"),
            ("upper", "q_max"),
            ("velocity", "qd_max"),
            ("acceleration", "q2d_max"),
        )
    }
    return Published(np.stack(rows, axis=1), limits, period, count)


def worst_use(states: Array, limits: Any) -> float:
    """The largest share of a position, speed or acceleration limit."""
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    shares = [
        np.abs(states[:, 0] - middle) / half,
        np.abs(states[:, 1]) / limits.velocity,
        np.abs(states[:, 2]) / limits.acceleration,
    ]
    return float(np.max(shares))


def compare(file: Path, model: dyn.MultibodyModel, processes: int) -> str:
    """One row of the table."""
    other = published(file)
    columns = idn.TorqueColumns(model)
    criterion, condition = (
        idn.InformationCriterion(columns, np.ones(model.n), kind=kind, rate=RATE)
        for kind in ("log_det", "condition")
    )
    limits = idn.ExcitationLimits(
        model, **other.limits, torque=model.limits.effort, torque_rate=np.inf
    )
    form = idn.FourierForm(
        other.period, other.harmonics, (other.period - 2.0 * RAMP) / other.period, RAMP
    )
    began = time.perf_counter()
    ours = idn.optimal_excitation(
        criterion, limits, form, starts=8, seconds=SECONDS, processes=processes
    )
    seconds = time.perf_counter() - began
    t = np.linspace(0.0, other.period, len(other.states))
    states = ours.motion.sample(t)[:, :3]
    cells: list[str] = [f"{other.harmonics}", f"{other.period:g}"]
    for motion in (other.states, states):
        rows = np.ascontiguousarray(motion)
        cells += [
            f"{-criterion(rows, other.period)[0]:.1f}",
            f"{np.exp(condition(rows, other.period)[0]):.0f}",
            f"{worst_use(rows, limits):.3f}",
        ]
    done = sum(np.isfinite(start.criterion) for start in ours.starts)
    return "| " + " | ".join([*cells, f"{done}", f"{seconds:.0f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--urdf", type=Path, default=URDF)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--files", nargs="*", help="names without .mat (all)")
    options = parser.parse_args()
    model = dyn.load_urdf(options.urdf)
    print("| harmonics | period, s | log det | condition | worst | ours: log det | condition "
          "| worst | starts | time, s |")  # fmt: skip
    print("|" + 10 * "---:|")
    for file in sorted(options.folder.glob("*.mat")):
        if not options.files or file.stem in options.files:
            print(compare(file, model, options.processes), flush=True)


if __name__ == "__main__":
    main()
