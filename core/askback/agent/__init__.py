"""The agent: what the model is told and may call, and the loop that takes its turns."""
