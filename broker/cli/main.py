"""The group of commands, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence

import click

from broker.cli.errors import CRASH, INTERRUPTED, OK, USAGE, CommandError


def _start() -> click.Command:
    from broker.cli.start import start

    return start


def _format() -> click.Command:
    from broker.cli.format import format_directories

    return format_directories


def _dump_log() -> click.Command:
    from broker.cli.dump_log import dump_log

    return dump_log


def _topics() -> click.Command:
    from broker.cli.topics import topics

    return topics


def _partitions() -> click.Command:
    from broker.cli.partitions import partitions

    return partitions


def _quorum() -> click.Command:
    from broker.cli.quorum import quorum

    return quorum


def _groups() -> click.Command:
    from broker.cli.groups import groups

    return groups


def _transactions() -> click.Command:
    from broker.cli.transactions import transactions

    return transactions


_COMMANDS: dict[str, Callable[[], click.Command]] = {
    "start": _start,
    "format": _format,
    "dump-log": _dump_log,
    "topics": _topics,
    "partitions": _partitions,
    "quorum": _quorum,
    "groups": _groups,
    "transactions": _transactions,
}


class _Commands(click.Group):
    """Imports only the command that is run. A cluster formats each of its nodes in a process of
    its own, and a rotation of leaders asks once per partition: to import the whole broker took
    two thirds of their time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            # Click suggests the closest of the commands that it knows.
            self.commands = {name: load() for name, load in _COMMANDS.items()}
            return None
        return _COMMANDS[cmd_name]()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="log-trial", prog_name="broker")
def broker() -> None:
    """A broker that speaks Kafka's wire protocol."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. What is not foreseen here is a bug, and shows its traceback."""
    try:
        code = run(arguments)
    except Exception:
        traceback.print_exc()
        code = CRASH  # Python would end with 1, which here says that something was found
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    try:
        # Not broker.main(): that ends with 1 when a pipe breaks, which here says "damaged".
        given = sys.argv[1:] if arguments is None else arguments
        with broker.make_context("broker", list(given)) as top:
            result = broker.invoke(top)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        click.echo(help_wanted.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        where = f"{context.command_path}: " if context is not None else ""
        click.echo(f"{where}{error.format_message()}", err=True)
        return USAGE
    except CommandError as error:
        click.echo(str(error), err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough of it. Python would try to flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return result if isinstance(result, int) else OK
