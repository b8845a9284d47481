"""Train PPO of Stable-Baselines3 on Object in Box, through the flat form of the Gymnasium environment.

Stable-Baselines3 is no dependency of this project; install it first: ``pip install stable-baselines3``.

This shows how the pieces fit together, not how to solve the task: rewards are rare, and an answer is shown
for one step only while this policy has no memory. PPO takes vectors as actions, so only observations are made
flat here; a policy over 1,063 numbers would start by asking nearly all the time.
"""

import argparse

import gymnasium
import numpy as np
from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]

from afk.envs.adapters.gymnasium import FlatEnv, register_all

EPISODES = 50  # that are played to see how good the policy is


def make_env() -> FlatEnv:
    """The environment, as a library that wants flat spaces takes it."""
    return FlatEnv(gymnasium.make("QBabyAI-ObjectInBox-v0"), flat_actions=False)


def evaluate(model: PPO) -> str:
    """Play the same episodes each time; what came of them on average, in words."""
    env = make_env()
    rewards, successes, queries = [], [], []
    for episode in range(EPISODES):
        observation, info = env.reset(seed=episode)
        total, over = 0.0, False
        while not over:
            action, _ = model.predict(observation)
            observation, reward, terminated, truncated, info = env.step(action)
            total, over = total + reward, terminated or truncated
        rewards.append(total)
        successes.append(info["success"])
        queries.append(info["queries"])
    return (
        f"reward {np.mean(rewards):.3f}, success {np.mean(successes):.0%}, "
        f"queries an episode {np.mean(queries):.1f}"
    )


def main() -> None:
    """Train, and tell how the policy does before and after."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="steps to train for")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    register_all()
    model = PPO("MlpPolicy", make_env(), seed=options.seed, device="cpu")
    print(f"before: {evaluate(model)}", flush=True)
    model.learn(options.steps)
    print(f"after {options.steps} steps: {evaluate(model)}")


if __name__ == "__main__":
    main()
