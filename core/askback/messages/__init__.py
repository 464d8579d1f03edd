"""What people write: who may, what it means to a question that is open, and what reaches the agent."""
