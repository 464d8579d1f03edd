"""The agent: the model's prompt and tools, and the loop that takes its turns."""
