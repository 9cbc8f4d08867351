"""One robot: inspect it, draw it, convert it for Gazebo, or update its files."""
