"""Settings of proximal policy optimisation."""

from dataclasses import dataclass

from afk.checks import check_counts, check_shares, check_types


@dataclass(frozen=True)
class Settings:
    """Settings of PPO; the defaults are the paper's.

    Attributes:
        environments: episodes played at once.
        rollout_steps: steps of each between two updates.
        bptt: steps that gradients flow back through the LSTM.
        minibatches: batches that an epoch is split into.
        epochs: how often each step is learned from.
        learning_rate: of Adam.
        discount: gamma.
        gae_lambda: lambda of generalised advantage estimation.
        clip: how far the probability ratio may leave 1.
        clip_value: whether V, too, may only move as far in an update.
        bootstrap_time_limit: whether V of the last observation counts where an episode ran out of steps; such
            an ending is worth nothing further otherwise, as in the authors' code.
        normalise_advantages: whether advantages are brought to zero mean and unit standard deviation.
        advantage_floor: normalised advantages are never divided by less than this.
        value_coef: coefficient of the value loss, which is half of the squared error.
        entropy_coef: coefficient of the entropy of the heads.
        switch_entropy_coef: coefficient of the entropy of the switch.
        entropy_pays_for_asking: whether the entropy of the heads is a reason to use the richer ones.
        max_grad_norm: what the gradient's global norm is clipped to.
        bonus: beta, paid for an answer that grows A_0, the notes related to the instruction.
        bonus_until: the part of training after which the bonus falls to zero linearly; 1 keeps it.
        potential_based_bonus: whether the bonus is potential-based shaping, see `bonuses`.
        price_after: the part of training before which questions are free; an agent that pays before it knows
            what answers are good for learns not to ask.
        anneal_after: the part of training after which learning rate and entropy coefficients fall to zero.
        reward_scale: what rewards and bonus are multiplied by.
        half_precision: whether the network computes in bfloat16; parameters stay in float32.
    """

    environments: int = 64
    rollout_steps: int = 40
    bptt: int = 20
    minibatches: int = 2
    epochs: int = 4
    learning_rate: float = 1e-4
    discount: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    clip_value: bool = True
    bootstrap_time_limit: bool = True
    normalise_advantages: bool = True
    advantage_floor: float = 0.0
    value_coef: float = 0.5
    entropy_coef: float = 0.01
    switch_entropy_coef: float = 0.01
    entropy_pays_for_asking: bool = False
    max_grad_norm: float = 0.5
    bonus: float = 0.1
    bonus_until: float = 1.0
    potential_based_bonus: bool = False
    price_after: float = 0.0
    anneal_after: float = 1.0
    reward_scale: float = 1.0
    half_precision: bool = False

    def __post_init__(self) -> None:
        check_types(self)
        check_counts(self, "environments", "rollout_steps", "bptt", "minibatches", "epochs")
        for name, value in vars(self).items():
            if value < 0:
                raise ValueError(f"{name} is a number from 0 on, not {value}")
        check_shares(self, "discount", "gae_lambda", "clip", "bonus_until", "price_after", "anneal_after")
        if self.rollout_steps % self.bptt:
            raise ValueError(f"rollout_steps ({self.rollout_steps}) must be a multiple of bptt ({self.bptt})")
        if self.sequences % self.minibatches:
            raise ValueError(
                f"{self.sequences} sequences cannot be split into {self.minibatches} minibatches"
            )

    @property
    def steps_per_update(self) -> int:
        """Environment steps between two updates."""
        return self.environments * self.rollout_steps

    @property
    def sequences(self) -> int:
        """What the steps of an update are cut into, `bptt` steps each."""
        return self.environments * (self.rollout_steps // self.bptt)
