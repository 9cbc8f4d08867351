"""How far sampling breaks passivity: energy created by each law in random contacts, on two plants.

    python benchmark/passivity.py --contacts 10

The arm is the Panda with elastic joints. See docs/impedance.md.
"""

from __future__ import annotations

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot

REST = (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5)
CASES = (
    ("motor_pd", "motor_pd", {"disturbance_bandwidth": 0.0}),
    ("joint_impedance, 0.25 K", "joint_impedance", {}),
    ("joint_impedance, 0.4 K", "joint_impedance", {"share": 0.4}),
    ("joint_impedance, 0.5 K", "joint_impedance", {"share": 0.5}),
    ("joint_impedance, 0.6 K", "joint_impedance", {"share": 0.6}),
    ("cartesian_impedance", "cartesian_impedance", {}),
    ("esp, contacts known", "esp", {"contact_bandwidth": 0.0}),
    ("esp, observer", "esp", {}),
    ("esp_impedance, contacts known", "esp_impedance", {"contact_bandwidth": 0.0}),
    ("esp_impedance, observer", "esp_impedance", {}),
)
PERIODS = (0.5e-3, 1e-3, 2e-3)
ROUND_OFF = 1e-9
UNITS = "| law | " + " | ".join(f"{1e3 * h:g} ms" for h in PERIODS) + " | MuJoCo, 1 ms |"


def robot() -> tuple[dyn.MultibodyModel, dyn.Actuators, bytes]:
    """The Panda with friction left out, which would hide the losses, and its URDF."""
    folder = share_directory() / "config"
    urdf = folder / "robots" / "panda.urdf"
    model = dyn.load_urdf(urdf)
    named = dyn.load_actuators(folder / "elastic_joints" / "panda.yaml", model.joint_names)
    bare = tuple(
        dyn.elastic.SeriesElastic(dyn.elastic.Motor(each.motors[0].inertia), each.springs[0])
        for each in named.actuators
    )
    return model, dyn.Actuators(model.joint_names, bare), urdf.read_bytes()


def law(
    model: dyn.MultibodyModel, actuators: dyn.Actuators, name: str, period: float, **settings: float
) -> dyn.control.Controller:
    share = settings.pop("share", None)
    if share is not None:
        springs = dyn.control.carrying_stiffness(model, actuators, np.array(REST), 40.0)
        settings["link_stiffness"] = share * springs
    chosen = dyn.control.ControllerSettings(law=name, position=REST, period=period, **settings)
    return dyn.control.make_controller(model, actuators, chosen)


def run(options: argparse.Namespace) -> None:
    model, actuators, urdf = robot()
    own = dyn.plant.ElasticRobot(model, actuators)
    other = MujocoRobot(model, actuators, urdf, step=0.5e-4)
    print(f"Energy created over mean work supplied, worst of {options.contacts} contacts\n")
    print(f"{UNITS}\n|---|{'---|' * (len(PERIODS) + 1)}")
    for title, name, settings in CASES:
        cells = []
        for plant, period in (*((own, h) for h in PERIODS), (other, 1e-3)):
            made = law(model, actuators, name, period, **settings)
            try:
                found = dyn.control.sampled_contacts(made, plant, REST, options.contacts)
                cells.append(f"{found.share:.1e}" if found.share > ROUND_OFF else "0")
            except dyn.DynamicsError:
                cells.append("diverges")
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--contacts", type=int, default=10, help="number of contacts for each cell (10)"
    )
    run(parser.parse_args())
