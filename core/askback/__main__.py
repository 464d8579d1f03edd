"""`python -m askback`: the command line."""

from askback.cli import main

main()
