# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Print the ROS settings of this package's own processes as `export` lines for a shell:

eval "$(python -m multibody_dynamics.tools.environment)"
"""

import shlex
import sys

from .base.ros_settings import ros_settings

if __name__ == "__main__":
    try:
        settings = ros_settings()
    except ValueError as error:
        sys.exit(f"multibody_dynamics: {error}")
    for key, value in settings.items():
        print(f"export {key}={shlex.quote(value)}")
