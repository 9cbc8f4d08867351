"""One robot: inspect it, draw it, or convert it for Gazebo."""
