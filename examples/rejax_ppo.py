"""Train PPO of Rejax on Danger, as it is: environment, rollouts and updates in one compiled program.

Rejax is no dependency of this project; install it first: ``pip install rejax``.

This shows how the pieces fit together, not how to solve the task: an answer is shown for one step only while
this policy has no memory, so it learns to walk to the square past tiles that it can only guess at. It has a
choice of four actions here; a policy over all 1,063 (``--all-actions``) asks nearly all the time and hardly
ever gets to the square.
"""

import argparse
import time
from typing import Any

import jax
import numpy as np
from rejax import PPO  # pyright: ignore[reportMissingImports]
from rejax.evaluate import evaluate  # pyright: ignore[reportMissingImports]

from afk.envs.adapters.gymnax import EnvParams, GymnaxEnv

EPISODES = 1000  # that are played to see how good the policy is
ACTIONS = ("left", "right", "forward", "what danger zone")


def describe(algorithm: Any, state: Any, levels: EnvParams) -> str:
    """What came of episodes on average, in words; nothing but success pays in this task."""
    act = algorithm.make_act(state)
    lengths, returns = jax.device_get(evaluate(act, jax.random.key(3), algorithm.env, levels, EPISODES))
    return f"return {returns.mean():.3f}, success {np.mean(returns > 0):.1%}, {lengths.mean():.1f} steps"


def main() -> None:
    """Train, and tell how the policy does before and after, in levels that it was not trained on."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--steps", type=int, default=262_144, help="steps to train for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-actions", action="store_true", help="everything can be done and asked")
    options = parser.parse_args()
    env = GymnaxEnv("qbabyai/danger", actions=None if options.all_actions else ACTIONS)
    new_levels = env.draw_params(jax.random.key(1))
    algorithm = PPO.create(
        env=env,
        agent_kwargs={"hidden_layer_sizes": (64, 64)},
        **{"num_envs": 64, "num_steps": 64, "num_epochs": 4, "num_minibatches": 8, "max_grad_norm": 0.5},
        **{"total_timesteps": options.steps, "eval_freq": options.steps, "skip_initial_evaluation": True},
    )
    state = algorithm.init_state(jax.random.key(options.seed))
    print(f"before: {describe(algorithm, state, new_levels)}", flush=True)
    start = time.monotonic()
    state, _ = jax.block_until_ready(jax.jit(algorithm.train)(train_state=state))
    seconds = time.monotonic() - start
    print(f"after {state.global_step} steps, {seconds:.0f} s: {describe(algorithm, state, new_levels)}")


if __name__ == "__main__":
    main()
