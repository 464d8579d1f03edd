"""The operator's commands, which run next to the bot."""
