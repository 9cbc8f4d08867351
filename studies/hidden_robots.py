# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The road from a data sheet to a proven model, driven with simulated robots nobody has measured.

The parameters of each hidden robot (mass, centre of mass and inertia of the links, springs, rotors,
friction) differ from the data sheet by 10 to 30 %, with random signs. It is excited, recorded and
identified with the commands of the package, which only see the data sheet and the recordings:
encoders of 18 bits on links and motors, and motor torques with noise of 0.5 % of their limits. No
torque sensor is used. In the recordings, the robot is driven by the feedforward of the data sheet
and the position loops of its drives. Afterwards, the laws follow the fast motion of the study on
the hidden robot, with the data sheet and with the identified model.

    python -m studies.hidden_robots --arm panda --robots 8

The recordings take minutes of computing time per robot. Everything is kept in the folder --output,
and a run that was interrupted continues there. With --write, only the files of the hidden robot are
written, for elastic_robot_simulator_node.
"""

import argparse
import json
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from multibody_dynamics.tools.cli import main as command
from multibody_dynamics.tools.motions.scaled_trajectory import motion_through
from multibody_dynamics.tools.robot.identified_results import Figure, Results
from multibody_dynamics.tools.robot.write_back import write_back
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.drive_terms import with_drive_terms
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import STUDIED_LAWS
from multibody_dynamics.tools.study.studied_robots import (
    RobotSource,
    StudiedArm,
    built_in_robots,
    load_arm,
)
from multibody_dynamics.validation.comparison import validate
from multibody_dynamics.validation.settings import Settings
from multibody_dynamics.validation.trajectory_files import read_points
from studies.simulated_recording import drive_of, motor_commands, record

Array = NDArray[np.float64]
ARMS = {"panda": "panda", "six_joint_arm": "six_joint_arm"}
WRONG = 0.1, 0.3  # range of the relative errors of the data sheet
QUIET = 0.005  # of the torque limit: noise of the measured motor torques
LAWS = ("pd-full", "pd-full-comp", "sf-full")
EFFECTS = ("exact", "link-friction", "hysteresis", "backlash", "gear-error", "drives")
BOX = "-1.2,-1.2,0,1.2,1.2,1.6"


def hidden_results(sheet: StudiedArm, seed: int) -> Results:
    """The true parameters of a robot whose data sheet is wrong."""
    rng = np.random.default_rng([seed, 77])

    def factor(size: Any = None) -> Any:
        return 1.0 + rng.choice((-1.0, 1.0), size) * rng.uniform(*WRONG, size)

    found = Results()
    ten = sheet.model.link_inertias
    for body, M in zip(sheet.model.body_names, ten, strict=True):
        mass, com, about = dyn.model.inertia.decompose(M)
        mass, com, about = mass * factor(), com * factor(3), about * factor()
        values = {"mass": mass, **{f"com.{x}": c for x, c in zip("xyz", com, strict=True)}}
        for name, (i, j) in {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1),
                             "iyz": (1, 2), "izz": (2, 2)}.items():  # fmt: skip
            values[f"inertia.{name}"] = about[i, j]
        found.bodies[body] = {key: Figure(float(value)) for key, value in values.items()}
    for joint, actuator in zip(sheet.actuators.joint_names, sheet.actuators.actuators, strict=True):
        (motor,) = actuator.motors
        names = ("inertia", "viscous", "coulomb", "coulomb_velocity")
        found.motors[joint] = {
            name: Figure(float(getattr(motor, name) * factor())) for name in names
        }
        found.springs[joint] = {"stiffness": Figure(float(actuator.spring.K * factor()))}
    return found


def write_hidden(source: RobotSource, seed: int, folder: Path) -> RobotSource:
    """Write the files of a hidden robot; returns where they are."""
    files = write_back(hidden_results(load_arm(source), seed), source.urdf, source.springs).files
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return source._replace(
        urdf=folder / source.urdf.name, springs=folder / source.springs.name, name=f"hidden {seed}"
    )


def plans(options: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """The motions to identify from, and another one to judge the result on."""
    return {"plan": tuple(options.runs.split(",")), "plan_held_out": ("fourier",)}


def plan(source: RobotSource, options: argparse.Namespace) -> None:
    """Excite: the motions, from the data sheet alone."""
    folder = options.output
    for k, (name, runs) in enumerate(plans(options).items()):
        if not (folder / name / "summary.json").is_file():
            periods = options.periods if name == "plan" else 2
            run("excite", source.urdf, "--elastic-joints", source.springs, f"--box={BOX}",
                "--acceleration", 8, "--repetitions", periods, "--seconds", options.seconds,
                "--seed", 100 * k, "--runs", ",".join(runs), "-o", folder / name,
                log=folder / f"{name}.txt")  # fmt: skip


def driven_plant(hidden: StudiedArm, sheet: StudiedArm, options: argparse.Namespace) -> Any:
    """The hidden robot with drives, whose position loops were designed from the data sheet."""
    loops = drive_of(sheet.model, sheet.actuators, sheet.start)
    if options.plant == "internal":
        shares = CONDITIONS[options.effects].effects
        effects = hidden.effects(shares) if shares else None
        return dyn.plant.ElasticRobot(hidden.model, hidden.actuators, drive=loops, effects=effects)
    urdf = hidden.source.urdf.read_bytes()
    return MujocoRobot(hidden.model, hidden.actuators, urdf, drive=loops)


def drive(
    sheet: StudiedArm, hidden: StudiedArm, options: argparse.Namespace, folder: Path, seed: int
) -> tuple[list[Path], float]:
    """Record: the files, the one to judge the result on last, and their duration in s."""
    robot = driven_plant(hidden, sheet, options)
    files, total = [], 0.0
    for name, runs in plans(options).items():
        for k, each in enumerate(runs):
            file = folder / "recordings" / (f"{each}.npz" if name == "plan" else "held_out.npz")
            if not file.is_file():
                points = read_points(options.output / name / f"{each}.csv")
                motion = motion_through(points, sheet.model, {})
                commands = motor_commands(sheet.model, sheet.actuators, motion, 1e-3)
                noise = QUIET * sheet.actuators.torque_limit
                rows = record(robot, commands, CONDITIONS["exact"], noise, [seed, k, len(name)])
                rows.write(file, sheet.actuators)
            with np.load(file) as content:
                total += float(content["t"][-1] - content["t"][0])
            files.append(file)
    return files, total


def tracked(
    hidden: StudiedArm, assumed: StudiedArm, options: argparse.Namespace, seed: int
) -> dict[str, float]:
    """rms error in mrad of each law on the hidden robot, with the model `assumed`."""
    believed = assumed.model, assumed.actuators
    found = {}
    for key in LAWS:
        outcome = simulate(
            hidden, STUDIED_LAWS[key], CONDITIONS[options.effects], plant=options.plant,
            assumed=believed, seed=seed,
        )  # fmt: skip
        found[key] = float("inf") if outcome.lost else 1e3 * outcome.rms
    return found


def compared(
    sheet: StudiedArm, hidden: StudiedArm, true: dyn.Actuators, folder: Path
) -> dict[str, Any]:
    """The identified parameters against the true ones, with the actuators `true` that have the
    effects as terms: largest relative errors "K" of a stiffness, "M_m" of a rotor and "W" of the
    width of a hysteresis (NaN if none was found), "z" with (value - true) / standard error by kind
    of parameter, and the "cutoff" of the identification, Hz."""
    content = dyn.identification.read_identified(folder / "identified")
    report = json.loads((folder / "identified" / "report.json").read_text())["identification"]
    stiffness, inertia, width, z = [], [], [], []
    for joint, actuator in zip(true.joint_names, true.actuators, strict=True):
        (motor,) = actuator.motors
        spring = content["springs"][joint]["stiffness"]
        stiffness.append(spring.value / actuator.spring.K - 1.0)
        inertia.append(content["motors"][joint]["inertia"].value / motor.inertia - 1.0)
        z.append(((spring.value - actuator.spring.K) / spring.error, "stiffness"))
        for name in ("inertia", "viscous", "coulomb", "coulomb_velocity"):
            each = content["motors"][joint].get(name)
            if each is not None and (name != "coulomb_velocity" or true == hidden.actuators):
                z.append(((each.value - getattr(motor, name)) / each.error, name))
        z.append(((each := content["motors"][joint]["offset"]).value / each.error, "offset"))
        if actuator.link_friction.coulomb:
            each = content["joints"][joint]["coulomb"]
            z.append(((each.value - actuator.link_friction.coulomb) / each.error, "coulomb, link"))
        if actuator.hysteresis:
            whole = sum(each.torque for each in actuator.hysteresis)
            each = content["springs"][joint].get("hysteresis_torque")
            width.append(np.nan if each is None else each.value / whole - 1.0)
    base = dyn.identification.base_parameters(sheet.model)
    of_links = base.values(dyn.identification.inertial_parameters(hidden.model))
    names = base.describe().splitlines()
    for name, value in zip(names, of_links.tolist(), strict=True):
        each = report["combinations"][name]
        if each["value"] is not None:
            z.append(((each["value"] - value) / each["standard error"], "links"))
    return {
        "K": float(np.abs(stiffness).max()),
        "M_m": float(np.abs(inertia).max()),
        "W": [float(x) for x in width],
        "z": {kind: [float(x) for x, of in z if of == kind and np.isfinite(x)]
              for kind in dict.fromkeys(of for _, of in z)},
        "cutoff": report["cutoff"],
    }  # fmt: skip


def residuals(folder: Path, source: RobotSource) -> dict[str, list[float]]:
    """rms residuals of the motor torques on the recording that was not used: with the identified
    model, and with the true one."""
    held = folder / "recordings" / "held_out.npz"
    cutoff, found = None, {}
    for name, files in (("ideal", "hidden"), ("residual", "new")):
        springs = folder / files / source.springs.name
        settings = Settings(
            folder / files / source.urdf.name, elastic_joints=springs, effort="motor", cutoff=cutoff
        )
        result = validate(held, settings)
        cutoff = result.cutoff
        found[name] = result.residuals[0].rms.tolist()
    return found


def run(*arguments: Any, log: Path) -> None:
    """Run a command of the package, and keep what it prints."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file, redirect_stdout(file):
        status = command([str(each) for each in arguments])
    if status:
        raise SystemExit(f"{' '.join(map(str, arguments))}: exit status {status}, see {log}")


def road(source: RobotSource, robot: int, options: argparse.Namespace) -> Any:
    """The whole road of one hidden robot; returns what was found."""
    folder = options.output / f"{options.plant}_{options.effects}_{robot}"
    result = folder / "result.json"
    if result.is_file():
        return json.loads(result.read_text())
    began = time.monotonic()
    sheet = load_arm(source)
    hidden = load_arm(write_hidden(source, robot, folder / "hidden"))
    true = with_drive_terms(hidden.actuators, hidden.effects(CONDITIONS[options.effects].effects))
    files, seconds = drive(sheet, hidden, options, folder, robot)
    if not (folder / "identified" / "report.json").is_file():
        run("identify", *files, "--urdf", source.urdf, "--elastic-joints", source.springs, "-o",
            folder / "identified", log=folder / "identify.txt")  # fmt: skip
    if not (folder / "new").exists():
        run("write-back", folder / "identified", "--urdf", source.urdf, "--elastic-joints",
            source.springs, "-o", folder / "new", log=folder / "write_back.txt")  # fmt: skip
    new = load_arm(
        source._replace(urdf=folder / "new" / source.urdf.name,
                        springs=folder / "new" / source.springs.name)
    )  # fmt: skip
    found = (
        compared(sheet, hidden, true, folder)
        | residuals(folder, source)
        | {
            "before": tracked(hidden, sheet, options, robot),
            "after": tracked(hidden, new, options, robot),
            "recorded": seconds,
            "took": time.monotonic() - began,
        }
    )
    result.write_text(json.dumps(found, indent=1) + "\n")
    return found


def lines(found: list[Any]) -> list[str]:
    """The table of all robots."""
    table = [f"{len(found)} robots, {found[0]['recorded']:.0f} s of recording each", ""]
    table += ["| law, rms error in mrad: median / worst | data sheet | identified |"]
    table += ["|---|---|---|"]
    for key in LAWS:
        cells = []
        for when in ("before", "after"):
            errors = [each[when][key] for each in found]
            cells.append(f"{np.median(errors):.3g} / {max(errors):.3g}")
        table.append(f"| {STUDIED_LAWS[key].title} | {' | '.join(cells)} |")
    table += ["", "| over all joints | median robot | worst robot |", "|---|---|---|"]
    for key, title in (("K", "largest error of a stiffness"), ("M_m", "largest error of a rotor")):
        values = [100.0 * each[key] for each in found]
        table.append(f"| {title} | {np.median(values):.2g} % | {max(values):.2g} % |")
    if found[0]["W"]:
        width = 100.0 * np.abs([each["W"] for each in found])
        table.append(
            f"| error of the width of a hysteresis, median of the joints | "
            f"{np.nanmedian(width):.2g} % | {np.nanmedian(width, axis=1).max():.2g} % |"
        )
    ratios = [max(np.array(each["residual"]) / each["ideal"]) for each in found]
    table.append(
        f"| largest torque residual over that of the true model | {np.median(ratios):.3g} "
        f"| {max(ratios):.3g} |"
    )
    table += ["", "| parameters | values | within 1.96 standard errors | rms of z |",
              "|---|---|---|---|"]  # fmt: skip
    for kind in found[0]["z"]:
        z = np.array([x for each in found for x in each["z"][kind]])
        inside, spread = np.mean(np.abs(z) < 1.96), np.sqrt((z**2).mean())
        table.append(f"| {kind} | {len(z)} | {inside:.1%} | {spread:.3g} |")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", choices=ARMS, default="panda")
    parser.add_argument("--plant", choices=("internal", "mujoco"), default="internal")
    parser.add_argument(
        "--effects",
        choices=EFFECTS,
        default="exact",
        help="of real drives that the hidden robot has, a condition of the study",
    )
    parser.add_argument("--robots", type=int, default=8, help="number of hidden robots")
    parser.add_argument("--first", type=int, default=0, help="number of the first hidden robot")
    parser.add_argument("--seconds", type=float, default=40.0, help="for planning each motion")
    parser.add_argument("--periods", type=int, default=2, help="of 10 s, of the fourier motion")
    parser.add_argument("--runs", default="fourier,chirps", help="to identify from")
    parser.add_argument("--write", type=Path, help="only write the files of the first robot here")
    parser.add_argument("-o", "--output", type=Path, default=Path("road"))
    parser.add_argument("--quick", action="store_true", help="one robot, short motions")
    options = parser.parse_args()
    if options.quick:
        options.robots, options.seconds, options.periods, options.runs = 1, 5.0, 1, "fourier"
    source = built_in_robots()[ARMS[options.arm]]
    if options.write:
        write_hidden(source, options.first, options.write)
        return
    options.output = options.output / options.arm
    plan(source, options)
    found = []
    for robot in range(options.first, options.first + options.robots):
        found.append(road(source, robot, options))
        print(f"robot {robot}: {found[-1]['took']:.0f} s, after {found[-1]['after']}", flush=True)
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
