"""The path of a GPU, walked without one: in a step of its own (`make gpu-walk`)."""
