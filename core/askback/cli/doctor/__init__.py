"""`askback doctor`: looks at everything that a bot needs, and says of each what is wrong and how to mend it."""
