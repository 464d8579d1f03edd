"""The command `askback doctor`: check everything that a bot needs, and report each problem with its fix."""
