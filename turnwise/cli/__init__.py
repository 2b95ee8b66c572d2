"""The `turnwise` command."""

from turnwise.cli.verbs import main

__all__ = ["main"]
