"""``afk textworld``."""

import typer
from rich.console import Console

app = typer.Typer(help="What Q-TextWorld needs.", no_args_is_help=True)


@app.callback()
def textworld() -> None:
    """What Q-TextWorld needs."""


@app.command()
def prepare() -> None:
    """Make the texts of Q-TextWorld from the installed textworld package, and keep them in the cache."""
    from rich.progress import Progress

    from afk.envs.qtextworld.levels.bank import bank_path, prepare_bank

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("making texts", total=1.0)
        bank = prepare_bank(progress=lambda share: bar.update(task, completed=share))
    print(f"{len(bank.words):,} words, {len(bank.intros):,} variants of every text: {bank_path()}")
