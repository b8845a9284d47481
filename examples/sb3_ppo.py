"""PPO of Stable-Baselines3, as it is, on a batch of Q-BabyAI that is stepped on the device, without asking.

Stable-Baselines3 is no dependency of this project; pip install . -r examples/sb3_requirements.txt installs
both. Its `MultiInputPolicy` takes our observations unmodified where they are without texts, and has no
memory: an answer would be gone after one step, so this agent only acts. Where one has to ask, it guesses.

python examples/sb3_ppo.py --task danger --steps 2000000
"""

import argparse
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
from stable_baselines3.common.vec_env import VecEnv, VecMonitor  # pyright: ignore[reportMissingImports]

import afk  # noqa: F401  (makes the ids known)
from afk.envs.adapters.gymnasium import gymnasium_id
from afk.envs.registry import task_named
from afk.files import read_object, write_json

EPISODES = 1000  # that are played to see how good the policy is
FRESH = 1000  # seeds of these begin here, beyond those of the environments that are trained in
ROUNDS = 10  # of training, with an evaluation after each


class DeviceBatch(VecEnv):
    """A batch of environments of ours as Stable-Baselines3 has them, with the seven physical actions."""

    def __init__(self, name: str, count: int, seed: int) -> None:
        self.envs: Any = gymnasium.make_vec(name, count, vectorization_mode="vector_entry_point", text=False)
        self.first, _ = self.envs.reset(seed=seed)
        self.actions = np.zeros((count, len(self.envs.single_action_space.nvec)), int)
        acts = spaces.Discrete(int(self.envs.single_action_space.nvec[1]))
        super().__init__(count, self.envs.single_observation_space, acts)

    def reset(self) -> dict[str, np.ndarray]:
        """The first observations, with leading axis n."""
        return self.first

    def step_async(self, actions: np.ndarray) -> None:
        """Note what to do: (n,) int, physical actions."""
        self.actions[:, 1] = actions

    def step_wait(self) -> Any:
        """Do it; where an episode ended, the observation is the first of the next."""
        observations, rewards, terminated, truncated, infos = self.envs.step(self.actions)
        done = terminated | truncated
        found: list[dict[str, Any]] = [{} for _ in done]
        for index in np.flatnonzero(done):
            found[index] = {
                "terminal_observation": infos["final_obs"][index],
                "TimeLimit.truncated": bool(truncated[index]),
                "is_success": bool(infos["final_info"]["success"][index]),
            }
        return observations, rewards.astype(np.float32), done, found

    def close(self) -> None:
        """Close the batch."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Nothing of single environments, but how they are drawn."""
        return [getattr(self.envs, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Single environments have no attributes here."""
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Single environments have no methods here."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """They are not."""
        return [False] * self.num_envs


def evaluate(model: PPO, name: str, seed: int) -> dict[str, float]:
    """Play fresh levels by sampling from the policy; each environment gives as many as every other."""
    envs, each = DeviceBatch(name, 50, seed), EPISODES // 50
    observations, counts = envs.reset(), np.zeros(50, int)
    successes, lengths, running = [], [], np.zeros(50, int)
    while counts.min() < each:
        actions, _ = model.predict(observations)
        observations, _, done, infos = envs.step(actions)
        running += 1
        for index in np.flatnonzero(done & (counts < each)):
            successes.append(infos[index]["is_success"])
            lengths.append(int(running[index]))
        counts, running = counts + done, np.where(done, 0, running)
    return {"success": float(np.mean(successes)), "episode_length": float(np.mean(lengths))}


def train(task: str, steps: int, seed: int) -> Iterator[dict[str, Any]]:
    """Train on a task, and tell how the policy does on the same fresh levels, again and again."""
    name, start = gymnasium_id(task), time.perf_counter()
    model = PPO(
        "MultiInputPolicy",
        VecMonitor(DeviceBatch(name, 64, seed)),
        n_steps=64,
        batch_size=1024,
        n_epochs=4,
        learning_rate=7e-4,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
        device="cpu",
    )
    versions = {each: version(each) for each in ("stable-baselines3", "torch", "gymnasium")}
    result = {"id": name, "seed": seed, "episodes": EPISODES, "versions": versions}
    evaluations: list[dict[str, float]] = []
    for number in range(ROUNDS + 1):
        if number:
            model.learn(steps // ROUNDS, reset_num_timesteps=False)
        evaluations.append({"steps": model.num_timesteps} | evaluate(model, name, seed + FRESH))
        yield result | {"seconds": round(time.perf_counter() - start), "evaluations": evaluations}


def main() -> None:
    """Train, and note how far it got."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--task", default="danger", help="a task of Q-BabyAI")
    parser.add_argument("--steps", type=int, default=2_000_000, help="steps to train for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="a JSON file: what is trained is noted there, by task")
    options = parser.parse_args()
    task = task_named(options.task)
    others = read_object(options.record) if options.record and options.record.exists() else {}
    for result in train(task, options.steps, options.seed):
        print("{steps:,} steps: success {success:.1%}".format(**result["evaluations"][-1]), flush=True)
        if options.record:
            write_json(options.record, others | {task: result})


if __name__ == "__main__":
    main()
