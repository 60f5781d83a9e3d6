"""The command line: `prosector VERB …`, one file a verb.

Only what is light is imported here and in the verbs' files, so that `--help` comes at once; a verb
imports PyTorch when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from prosector.cli import (
    bench,
    conformance,
    demo,
    evaluate,
    explain,
    export,
    fill,
    generate,
    import_,
    models,
    predict,
    shortlist,
    train,
    translate,
)
from prosector.cli.console import no_color, prepare_streams, silence_stdout
from prosector.cli.mistakes import PipeClosedError, StoppedError, explained

EXAMPLES = """\b
Examples:
  prosector translate 我喜欢深度学习。
  prosector translate --input letter.zh.txt --output letter.en.txt
  prosector explain 我喜欢深度学习。
  prosector train demo --data pairs.tsv --out runs/mine
  prosector evaluate --model zh-en --data pairs.tsv
  prosector COMMAND --help

\b
Exit codes: 0 well; 2 a mistake in the call or its files; 1 a fault of Prosector's; 130 stopped by Ctrl-C.
--no-color, anywhere, or NO_COLOR in the environment: no colours. PROSECTOR_DEBUG=1: tracebacks."""


class Verbs(TyperGroup):
    """The verbs in the order of a first visit; Ctrl-C and closed pipes pass typer by, which has plans of its own."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise PipeClosedError from error
        except KeyboardInterrupt as error:
            raise StoppedError("stopped") from error


app = typer.Typer(
    name="prosector",
    cls=Verbs,
    help="The Transformer taken apart, put together from its first dot product, and trained to translate.",
    epilog=EXAMPLES,
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
VERBS: dict[str, tuple[Callable[..., None], str]] = {
    "translate": (translate.translate, translate.HELP),
    "train": (train.train, train.HELP),
    "generate": (generate.generate, generate.HELP),
    "fill": (fill.fill, fill.HELP),
    "predict": (predict.predict, predict.HELP),
    "explain": (explain.explain, explain.HELP),
    "evaluate": (evaluate.evaluate, evaluate.HELP),
    "bench": (bench.bench, bench.HELP),
    "conformance": (conformance.conformance, conformance.HELP),
    "import": (import_.import_, import_.HELP),
    "export": (export.export, export.HELP),
    "shortlist": (shortlist.shortlist, shortlist.HELP),
    "models": (models.models, models.HELP),
    "demo": (demo.demo, demo.HELP),
}
for verb, (function, text) in VERBS.items():
    app.command(verb, help=text)(function)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and exit.")
) -> None:
    """The Transformer taken apart, put together from its first dot product, and trained to translate."""
    if version:
        from importlib.metadata import version as version_of

        print(f"prosector {version_of('prosector')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, and return its exit code; whatever goes wrong is one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = next((f"prosector {word}" for word in given if word in VERBS), "prosector")
    try:
        with no_color(given) as kept:
            code = typer.main.get_command(app).main(kept, prog_name="prosector", standalone_mode=False)
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (PipeClosedError, BrokenPipeError):
        silence_stdout()
        return 0
    except StoppedError as stop:
        print(f"{name}: {stop}", file=sys.stderr)
        return 130
    except Exception as error:
        code, line = explained(error, name)
        print(line, file=sys.stderr)
        return code


def run() -> None:
    """The entry of the command `prosector`."""
    prepare_streams()
    sys.exit(main())


if __name__ == "__main__":
    run()
