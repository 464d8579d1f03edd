"""The Messages API on this machine: what the model says, what it was asked, and what went wrong on purpose."""
