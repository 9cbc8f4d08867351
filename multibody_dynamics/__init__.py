"""Higher-order inverse dynamics of robots with elastic joints, and the ROS 2 nodes around it."""

__version__ = "0.1.0"
