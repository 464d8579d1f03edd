"""The contract of the bots: what every one of them does, whatever its platform."""
