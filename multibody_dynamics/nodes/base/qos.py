# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Quality of service: publishers are reliable, and subscriptions to states match every publisher.

Trajectories and references require reliable publishers, descriptions also transient local ones.
"""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)


def best_effort(depth: int = 10) -> QoSProfile:
    """Matches reliable and best-effort publishers alike, and never waits for a lost message."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
