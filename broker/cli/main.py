"""The group of commands, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from broker.cli.dump_log import dump_log
from broker.cli.errors import CRASH, INTERRUPTED, OK, USAGE, CommandError
from broker.cli.format import format_directories
from broker.cli.partitions import partitions
from broker.cli.quorum import quorum
from broker.cli.start import start
from broker.cli.topics import topics


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="log-trial", prog_name="broker")
def broker() -> None:
    """A broker that speaks Kafka's wire protocol."""


for command in (start, format_directories, dump_log, topics, partitions, quorum):
    broker.add_command(command)


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
