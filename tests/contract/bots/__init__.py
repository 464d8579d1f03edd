"""The contract of the bots: the behaviour that all platforms share."""
