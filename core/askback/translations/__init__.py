"""The words that people read in a chat, in their languages."""
