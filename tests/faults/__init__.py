"""Nothing is lost: real processes, killed at named points."""
