# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 nodes: message -> arrays -> dynamics -> message. No mechanics is computed here.

The file of a node, `*_node.py`, shows its whole behaviour. The subpackages contain code shared by
several nodes, and self-contained parts of single nodes:

    base        lifecycle, executor, parameters, messages, diagnostics
    following   trajectories and goals in, one reference per cycle out
    task_space  targets and paths of a tool in, joint motions out
    simulator   plant, sensors, environment, commands and timing of the simulated arm
    validation  parameters, statistics and recordings of the comparison with the model
"""

import gc

from ..early_signals import exit_silently_on_signals, is_program_of_a_node
from ..linear_algebra import use_one_thread
from ..parent_process import end_with_parent
from ..process_limits import refuse_insufficient_limits

exit_silently_on_signals()
if is_program_of_a_node():
    end_with_parent()
    refuse_insufficient_limits()
    use_one_thread()
    gc.disable()  # until there is a node: collections while importing find nothing, and take 0.2 s
