"""What forms of an update are worth on this GPU: one table, of which a run that is stopped keeps what it has.

    python benchmarks/update_variants.py --out variants.json [--seconds 230] [--only WORD] [--size small]

Whole updates of PPO, preset `fast`, with one seed and with five, and of DQN, each with one thing changed, and
the FiLM block with its gradient in every form of a convolution. What matters most comes first, and what might
break a device's context last. Programs of a round are traced one by one and compiled side by side. A share is
that of the rate of a large product of matrices, which is measured first. Rows of other minibatches learn
otherwise; all others compute the same numbers but for rounding. DQN reads the texts that `afk textworld
prepare` has made; where textworld is not installed, bring that file along.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from convolutions import FORMS, Form
from jax.custom_batching import custom_vmap

from afk.agents.networks import convolution, transformer
from afk.agents.networks.fusion import FilmBlock
from afk.bench.environments import measure
from afk.bench.training import device_rate, operations_a_step
from afk.files import write_json
from afk.learning import ppo
from afk.learning.algorithm import algorithm_of
from afk.learning.devices import side_by_side
from afk.training import update
from afk.training.build import schedules_of
from afk.training.changes import change
from afk.training.config import Config
from afk.training.levels import draw_training_levels
from afk.training.machine import describe_machine
from afk.training.presets import preset
from afk.training.starting import first_learners

TRITON = "one kernel (Triton)"
SAFE_FORMS = tuple(name for name in FORMS if name != TRITON)
GRID, TEXT = ("fast", "qbabyai/object-in-box"), ("paper-wide", "qtextworld/take-1")
_PARTS = (0.4, 0.75, 1.0)  # of all the time, when each round is to be over
_EACH = 1.0  # seconds that a measurement takes
_UPDATES = {GRID: 5, TEXT: 8}  # in one call
_SIZES = {
    "real": {GRID: {}, TEXT: {"settings.environments": 2560, "settings.batch": 1024}},
    "small": {
        GRID: {"size.width": 16, "size.head": 8, "size.notes": 4, "settings.environments": 16, "levels": 64},
        TEXT: {
            **{"size.width": 16, "settings.environments": 40, "settings.batch": 64, "levels": 64},
            **{"settings.capacity": 4000, "settings.half_precision": False},
        },
    },
}
_WHOLE = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
_GRAPHS = "xla_gpu_enable_command_buffer"

Patch = tuple[Any, str, Any]


@dataclass(frozen=True)
class Variant:
    """An update with something changed.

    Attributes:
        name: of what is changed.
        what: preset and task.
        seeds: trained side by side.
        changes: numbers of the configuration.
        options: XLA's.
        patches: what is put where while it is traced: module, name and value.
    """

    name: str
    what: tuple[str, str] = GRID
    seeds: int = 1
    changes: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()


def learn_in_turn(settings: Any, static: Any, *arrays: Any) -> Any:
    """`afk.learning.ppo.learn`, for one network after the other under `jax.vmap`: nothing is stacked."""
    alone = custom_vmap(partial(_LEARN, settings, static))

    @alone.def_vmap
    def _(count: int, is_stacked: Any, *arrays: Any) -> tuple[Any, Any]:
        leaves, form = jax.tree.flatten(arrays)
        stacked = jax.tree.leaves(is_stacked)

        def nth(index: jax.Array) -> Any:
            own = [leaf[index] if chosen else leaf for leaf, chosen in zip(leaves, stacked, strict=True)]
            return alone(*jax.tree.unflatten(form, own))

        results = jax.lax.map(nth, jnp.arange(count))
        return results, jax.tree.map(lambda _: True, results)

    return alone(*arrays)


_LEARN = ppo.learn
_IN_TURN = (ppo, "learn", learn_in_turn)


def with_form(form: Form) -> Patch:
    """Convolutions in a form."""
    return convolution, "convolve", form


SURE = (
    Variant("as it is"),
    Variant("as it is", seeds=5),
    Variant("networks learn in turn", seeds=5, patches=(_IN_TURN,)),
    Variant("as it is", TEXT),
)
OTHERS = (
    Variant("4 minibatches", changes={"settings.minibatches": 4}),
    Variant("no CUDA graphs", options={_GRAPHS: ""}),
    Variant("three cuts", TEXT, patches=((transformer, "_CUTS", ((0.25, 128), (0.875, 176), (1.0, 256))),)),
    Variant("attention by XLA", TEXT, patches=((transformer, "_suits_cudnn", lambda query: False),)),
    Variant("2 minibatches", changes={"settings.minibatches": 2}),
    Variant("4 minibatches, in turn", seeds=5, changes={"settings.minibatches": 4}, patches=(_IN_TURN,)),
    Variant("no Triton products", options={"xla_gpu_enable_triton_gemm": False}),
    Variant("latency hiding", options={"xla_gpu_enable_latency_hiding_scheduler": True}),
    Variant("cuts of 192 and 320", TEXT, patches=((transformer, "_CUTS", ((0.875, 192), (1.0, 320))),)),
    Variant("nine products", patches=(with_form(FORMS["nine products"]),)),
)
RISKY = (
    Variant("loops in CUDA graphs", options={_GRAPHS: _WHOLE}),
    Variant("loops in CUDA graphs, in turn", seeds=5, options={_GRAPHS: _WHOLE}, patches=(_IN_TURN,)),
    Variant("CUDA graphs side by side", options={"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}),
    Variant("loops in CUDA graphs", TEXT, options={_GRAPHS: _WHOLE}),
    Variant(TRITON, patches=(with_form(FORMS[TRITON]),)),
    Variant(TRITON, seeds=5, patches=(with_form(FORMS[TRITON]),)),
)


class Log:
    """Rows, printed and written as they come."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._rows = path, []
        titles = f"{'ms':>9} {'steps/s':>9} {'share':>6} {'compiled':>8}"
        print(f"{'what':26} {'seeds':>5}  {'variant':46} {titles}")

    def add(self, what: str, seeds: int, name: str, **found: float) -> None:
        """A row: `milliseconds` and `share`, and perhaps `steps_per_second` and `compile_seconds`."""
        steps, compiling = (found.get(each, 0.0) for each in ("steps_per_second", "compile_seconds"))
        numbers = f"{found['milliseconds']:9.2f} {steps:9,.0f} {found['share']:6.1%} {compiling:7.1f}s"
        self._keep({"what": what, "seeds": seeds, "variant": name, **found}, numbers)

    def fail(self, what: str, seeds: int, name: str, error: Exception) -> None:
        """A row without numbers."""
        said = f"{type(error).__name__}: {error}"
        self._keep({"what": what, "seeds": seeds, "variant": name, "error": said}, said[:60])

    def _keep(self, row: dict[str, Any], said: str) -> None:
        self._rows.append(row)
        print(f"{row['what'][:26]:26} {row['seeds']:5}  {row['variant'][:46]:46} {said}", flush=True)
        if self._path is not None:
            write_json(self._path, {"machine": describe_machine(), "rows": self._rows})


@contextmanager
def patched(patches: tuple[Patch, ...]) -> Iterator[None]:
    """Some names of modules with other values."""
    before = [(module, name, getattr(module, name)) for module, name, _ in patches]
    try:
        for module, name, value in patches:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _block_gradient(block: FilmBlock, seen: jax.Array, read: jax.Array) -> Any:
    """Of all that goes into the block."""

    def energy(block: FilmBlock, seen: jax.Array, read: jax.Array) -> jax.Array:
        return (block(seen, read).astype(jnp.float32) ** 2).sum()

    return jax.grad(energy, (0, 1, 2))(block, seen, read)


def measure_blocks(log: Log, forms: Sequence[str], rate: float, small: bool) -> None:
    """The FiLM block, forwards and backwards, in a minibatch of the preset's size."""
    count, width = (4, 16) if small else (2560, 128)
    for name, networks in ((name, networks) for name in forms for networks in (1, 5)):
        keys = jax.random.split(jax.random.key(0), networks)
        blocks = jax.vmap(lambda key: FilmBlock(width, kernel=3, key=key))(keys)
        half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), blocks)
        seen = jax.random.normal(keys[0], (networks, count, 7, 7, width), jnp.bfloat16)
        read = jax.random.normal(keys[0], (networks, count, width), jnp.bfloat16)

        try:
            with patched((with_form(FORMS[name]),)):
                run = jax.jit(partial(side_by_side, _block_gradient)).lower(half, seen, read).compile()
            seconds, _ = measure(lambda _, run=run, given=(half, seen, read): run(*given), _EACH / 5)
        except Exception as error:  # one form that does not compile here must not cost the others
            log.fail("FiLM block", networks, name, error)
            continue
        operations = 3 * 2 * 2 * networks * count * 49 * 9 * width**2
        log.add("FiLM block", networks, name, milliseconds=1e3 * seconds, share=operations / seconds / rate)


@cache
def parts_of(what: tuple[str, str], seeds: int, size: str) -> tuple[Config, Any, Any, float]:
    """The configuration, learners and levels of an update as it is, and its arithmetic a step."""
    config = preset(what[0], [what[1]], seeds=tuple(range(seeds)))
    updates = {"log_every": _UPDATES[what], "evaluate_every": _UPDATES[what]}
    config = change(config, updates | _SIZES[size][what])
    learner = first_learners(config)
    operations = (operations_a_step(config, learner) or 0) * algorithm_of(config.settings).cost(
        config.settings
    )[1]
    return config, learner, draw_training_levels(config, 0), operations


def trace(variant: Variant, size: str) -> Callable[[], Any]:
    """A function that compiles a variant."""
    config, learner, levels, _ = parts_of(variant.what, variant.seeds, size)
    config = change(config, dict(variant.changes))
    arrays, static = eqx.partition(learner, eqx.is_array)
    with patched(variant.patches):
        run = jax.jit(partial(update._run_updates, config, static), donate_argnums=0)
        lowered = run.lower(arrays, levels, schedules_of(config, 0))

    def build() -> tuple[Any, float]:
        start = time.perf_counter()
        return lowered.compile(dict(variant.options)), time.perf_counter() - start

    return build


def measure_update(log: Log, variant: Variant, size: str, built: Future[Any], rate: float) -> None:
    """A row for a variant that was compiled, or for why it was not."""
    what, (config, learner, levels, operations) = variant.what[1], parts_of(variant.what, variant.seeds, size)
    try:
        compiled, compiling = built.result(timeout=0)
        state = jax.tree.map(jnp.copy, eqx.filter(learner, eqx.is_array))

        def go_on(key: jax.Array) -> Any:
            nonlocal state
            del key
            state, _, losses = compiled(state, levels, schedules_of(config, 0))
            return losses

        seconds, _ = measure(go_on, _EACH)
    except Exception as error:  # what one does not bear, or its compiling, must not cost the others
        log.fail(what, variant.seeds, variant.name, error)
        return
    seconds /= config.log_every
    steps = variant.seeds * config.settings.steps_per_update / seconds
    found = {"milliseconds": 1e3 * seconds, "steps_per_second": steps, "compile_seconds": compiling}
    log.add(what, variant.seeds, variant.name, **found, share=operations * steps / rate)


def measure_updates(log: Log, variants: Sequence[Variant], size: str, rate: float, until: float) -> None:
    """Rows for variants, compiled side by side; what is not compiled by then, (s), is left out."""
    pool = ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) - 1))
    compiling: list[tuple[Variant, Future[Any]]] = []
    for variant in variants:
        try:
            if time.perf_counter() < until:
                compiling.append((variant, pool.submit(trace(variant, size))))
        except Exception as error:
            log.fail(variant.what[1], variant.seeds, variant.name, error)
    left = until - time.perf_counter() - 2 * _EACH * len(compiling)
    wait([each for _, each in compiling], timeout=max(left, 0))
    pool.shutdown(wait=False, cancel_futures=True)
    for variant, built in compiling:
        measure_update(log, variant, size, built, rate)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What forms of an update are worth on this GPU.")
    parser.add_argument("--out", type=Path, help="where the rows go, as JSON")
    parser.add_argument("--seconds", type=float, default=230.0, help="for everything, about")
    parser.add_argument("--only", default="", help="words in what is measured: block, qtextworld, in turn")
    parser.add_argument("--size", choices=[*_SIZES], default="real")
    options = parser.parse_args()
    start, log, is_small = time.perf_counter(), Log(options.out), options.size == "small"
    rate = device_rate(True, _EACH)
    log.add("a product of matrices", 1, "bfloat16", milliseconds=0.0, share=1.0, operations_per_second=rate)
    for variants, forms, part in zip((SURE, OTHERS, RISKY), (SAFE_FORMS, (TRITON,), ()), _PARTS, strict=True):
        chosen = [each for each in variants if options.only in f"{each.what[1]} {each.name}"]
        measure_updates(log, chosen, options.size, rate, start + part * options.seconds)
        if options.only in "FiLM block":
            measure_blocks(log, forms, rate, is_small)
    print(f"{time.perf_counter() - start:.0f} s in all", flush=True)
    os._exit(0)  # without waiting for what is still compiled


if __name__ == "__main__":
    main()
