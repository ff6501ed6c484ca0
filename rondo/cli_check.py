"""`rondo check`: options on the command line to `rondo.check`, and its result to the terminal."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console

from rondo.cli_shared import DEFAULT_TARGET, FAILED, FaultOption, JsonOption
from rondo.errors import Interrupted

if TYPE_CHECKING:
    from rondo.check.run import Checked, Wishes
    from rondo.check.source import Source

CHECK_CODES = f"""Exit codes: 0 no stateful difference; 1 findings; {FAILED} the model could not be
checked, or a difference could not be confirmed: the message says why."""

Factory = Annotated[
    str, typer.Argument(help="module:factory or path/to/file.py:factory, without arguments.")
]
Seconds = Annotated[float, typer.Option("--time", min=1, help="Seconds to spend.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", help="name:shape:dtype, where the factory gives the model alone."),
]
Layers = Annotated[
    list[str] | None,
    typer.Option("--backend", "--layer", help="Only this backend; may be given again."),
]
Dynamic = Annotated[
    bool | None, typer.Option("--dynamic/--no-dynamic", help="As in torch.compile.")
]
FullGraph = Annotated[bool, typer.Option("--fullgraph", help="As in torch.compile.")]
Seed = Annotated[int, typer.Option(help="Of the random sequences.")]
Folder = Annotated[Path, typer.Option("--findings", help="Where findings go.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds for one child process.")]
Memory = Annotated[int, typer.Option(min=1, help="Megabytes for one child process.")]
Target = Annotated[str, typer.Option("--target", metavar="NAME", help="Whose compiler.")]


def check(
    factory: Factory,
    seconds: Seconds = 120,
    inputs: Inputs = None,
    layers: Layers = None,
    dynamic: Dynamic = None,
    fullgraph: FullGraph = False,
    seed: Seed = 0,
    folder: Folder = Path("findings"),
    timeout: Timeout = 60,
    memory: Memory = 4096,
    fault: FaultOption = None,
    target: Target = DEFAULT_TARGET,
    as_json: JsonOption = False,
) -> None:
    """Check a model of your own: does a compiled call depend on the calls before it?

    The factory returns a module or function and its example inputs, `(model, inputs)`: a tuple for
    positional arguments, a dict for keyword arguments. Ctrl-C ends the check with what it has.
    """
    from rondo.check.run import Wishes
    from rondo.check.source import parse_input, parse_source

    source = parse_source(factory, Path.cwd()).with_inputs(tuple(map(parse_input, inputs or ())))
    wishes = Wishes(
        target=target,
        layers=tuple(layers or ()),
        dynamic="" if dynamic is None else str(dynamic),
        fullgraph=fullgraph,
        seed=seed,
        seconds=seconds,
        child_seconds=timeout,
        megabytes=memory,
        findings=folder,
        faults=tuple(fault or ()),
    )
    result = _checked(source, wishes)
    _show(result, folder, as_json)
    clean = result.judged and not result.unconfirmed
    raise typer.Exit(1 if result.findings else 0 if clean else FAILED)


def _checked(source: Source, wishes: Wishes) -> Checked:
    """The check, with live progress."""
    from rondo.check import show
    from rondo.check.run import check as run_check

    live = show.Live()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_check(source, wishes, live.say, live.show)
    except KeyboardInterrupt:
        raise Interrupted("interrupted before anything was checked") from None
    finally:
        live.close()


def _show(result: Checked, folder: Path, as_json: bool) -> None:
    from rondo.check import show

    if as_json:
        typer.echo(msgspec.json.encode(show.as_record(result, folder)))
    else:
        show.show(result, folder, Console(emoji=False))
