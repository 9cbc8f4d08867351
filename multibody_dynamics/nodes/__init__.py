"""ROS 2 nodes: message -> arrays -> dynamics -> message. Nothing here computes any mechanics."""
