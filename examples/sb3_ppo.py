"""PPO of Stable-Baselines3, as it is, on a batch of Q-BabyAI that is stepped on the device, without asking.

Stable-Baselines3 is no dependency of this project; pip install -r examples/sb3_requirements.txt installs it.
Its `MultiInputPolicy` takes our observations unmodified where they are without texts, and has no memory: an
answer would be gone after one step, so this agent only acts. Where one has to ask, it has to guess.

python examples/sb3_ppo.py QBabyAI-Danger-v0 --steps 2000000
"""

import argparse
import json
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
from stable_baselines3.common.vec_env import VecEnv, VecMonitor  # pyright: ignore[reportMissingImports]

import afk  # noqa: F401  (makes the ids known)

EPISODES = 1000  # that are played to see how good the policy is


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


def main() -> None:
    """Train, and tell how the policy does on fresh levels before and after."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("id", nargs="?", default="QBabyAI-Danger-v0", help="the environment")
    parser.add_argument("--steps", type=int, default=2_000_000, help="steps to train for")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    envs = VecMonitor(DeviceBatch(options.id, 64, options.seed))
    model = PPO(
        "MultiInputPolicy",
        envs,
        n_steps=64,
        batch_size=1024,
        n_epochs=4,
        learning_rate=7e-4,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [256, 256]},
        seed=options.seed,
        device="cpu",
    )
    result: dict[str, Any] = {"id": options.id, "seed": options.seed, "episodes": EPISODES}
    result["before"] = evaluate(model, options.id, options.seed + 1000)
    model.learn(options.steps)
    print(json.dumps(result | {"steps": model.num_timesteps, "after": evaluate(model, options.id, 1)}))


if __name__ == "__main__":
    main()
