"""Links, friction, motors and springs, identified jointly from whatever was measured."""
