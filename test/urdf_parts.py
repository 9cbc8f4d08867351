# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Robots written as URDF, with what matters to a test. Rows of numbers are text, as in a file."""


def link(
    name: str, mass: float = 0.0, com: str = "0 0 0", inertia: str = "0.1 0.1 0.1",
    rpy: str = "0 0 0", more: str = "",
) -> str:  # fmt: skip
    """Without mass, it has no <inertial>. `inertia`: moments xx, yy, zz and, if not zero, products
    xy, xz, yz, in kg m^2 about the COM, along axes turned by `rpy`."""
    axes = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    values = [*inertia.split(), "0", "0", "0"]
    entries = " ".join(f'{key}="{value}"' for key, value in zip(axes, values, strict=False))
    inertial = (
        f'<inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f"<inertia {entries}/></inertial>"
    )
    return f'<link name="{name}">{inertial if mass else ""}{more}</link>'


def joint(
    name: str, kind: str, parent: str, child: str, xyz: str = "0 0 0", axis: str = "0 0 1",
    rpy: str = "0 0 0", limit: str = "", more: str = "",
) -> str:  # fmt: skip
    """`limit`: lower and upper position, velocity and effort, unless the joint is fixed."""
    limit = "" if kind == "fixed" else limit
    keys = ("lower", "upper", "velocity", "effort")
    limits = " ".join(f'{k}="{x}"' for k, x in zip(keys, limit.split(), strict=bool(limit)))
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f"{f'<limit {limits}/>' if limit else ''}{more}</joint>"
    )


def robot(name: str, *parts: str) -> str:
    return f'<robot name="{name}">{"".join(parts)}</robot>'
