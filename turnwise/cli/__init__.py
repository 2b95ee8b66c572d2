"""The `turnwise` command."""

import sys

INTERRUPTED_STATUS = 130  # exit status after Ctrl-C


def main() -> None:
    """Run the command line. The commands are imported here, so that Ctrl-C while they load shows no traceback."""
    try:
        from turnwise.cli.verbs import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED_STATUS)


__all__ = ["main"]
