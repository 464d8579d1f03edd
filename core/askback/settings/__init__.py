"""Settings: where they come from, what they are called, and what is said of a wrong one."""
