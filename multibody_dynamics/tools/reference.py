"""Keep the tables in docs/ equal to the code: symbols, public names, parameters of every node.

`python -m multibody_dynamics.tools.reference` rewrites what stands in docs/*.md between comments
`begin NAME` and `end NAME`; a test fails when that would change anything.
"""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from inspect import getdoc, ismodule
from pathlib import Path

from .. import dynamics
from ..dynamics import SYMBOLS

DOCS = Path(__file__).parents[2] / "docs"
NODES = {
    "feedforward_node": "FeedforwardParameters",
    "flatness_controller_node": "FlatnessControllerParameters",
    "task_space_node": "TaskSpaceParameters",
    "elastic_robot_simulator_node": "SimulatorParameters",
    "trajectory_node": "TrajectoryParameters",
    "series_joints_node": "SeriesJointsParameters",
    "validation_node": "ValidationParameters",
}


def generate(name: str) -> str:
    """The generated text of one place, by its name."""
    if name == "symbols":
        head = "| symbol | name in the code | shape | unit | frame |\n|---|---|---|---|---|\n"
        return head + "".join(
            f"| {s.symbol} | `{s.name}` | {s.shape} | {s.unit} | {s.frame} |\n" for s in SYMBOLS
        )
    if name == "names":
        return "| name | what it is |\n|---|---|\n" + "".join(
            f"| `dyn.{key}` | {summary(getattr(dynamics, key))} |\n" for key in dynamics.__all__
        )
    from ..nodes.parameters import markdown_table

    node = import_module(f"multibody_dynamics.nodes.{name.removesuffix(' parameters')}")
    return markdown_table(getattr(node, NODES[name.removesuffix(" parameters")]))


def summary(thing: object) -> str:
    """The first paragraph of a docstring in one line; of a constant, its kind."""
    if not callable(thing) and not ismodule(thing):
        return f"a {type(thing).__name__} of {len(thing)} entries"  # type: ignore[arg-type]
    text = (getdoc(thing) or "").split("\n\n")[0]
    return re.sub(r":\w+:(?=`)", "", " ".join(text.split())).replace("|", "\\|")


def updated(text: str) -> str:
    """`text` with every marked place generated anew."""
    return re.sub(
        r"(<!-- begin ([\w ]+) -->\n).*?(<!-- end \2 -->)",
        lambda match: match[1] + generate(match[2]) + match[3],
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := updated(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"updated {page.name}")


if __name__ == "__main__":
    main()
