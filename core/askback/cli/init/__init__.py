"""The command `askback init`, which takes somebody from nothing to a running bot."""
