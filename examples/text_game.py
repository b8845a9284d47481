"""Play a cooking game of Q-TextWorld through Gymnasium: ask once, then do what the answer speaks of."""

import gymnasium


def main() -> None:
    """Play one game, and print what is said."""
    env = gymnasium.make("afk:QTextWorld-Take1-v0")
    observation, info = env.reset(seed=0)
    print(observation["text"])
    command, answer, over = info["good_queries"][0], set(), False  # ask charlie where ...
    while not over:
        observation, _, terminated, truncated, info = env.step(command)
        print(f"\n> {command}\n{observation['text']}")
        answer |= set(observation["response"].strip(".").split())
        command = max(info["admissible_commands"], key=lambda each: len(answer & set(each.split())))
        over = terminated or truncated
    print("\nThe game is won." if info["success"] else "\nThe game is lost.")


if __name__ == "__main__":
    main()
