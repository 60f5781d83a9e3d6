"""The learning rate at each step, as pure functions; step 1 is the first update.

inverse-sqrt   peak · min(s / w, √(w / s))                    up over w steps, then ∝ 1/√s
noam           factor · d^-½ · min(s^-½, s · w^-3/2)          Vaswani et al. 2017, equation 3
linear         peak · s / w, then peak · (S+1-s) / (S+1-w)    up, then straight down to 0 after step S
"""

from prosector.config.training import TrainingConfig


def inverse_sqrt(step: int, peak: float, warmup: int) -> float:
    """Up to the peak over the warm-up, then falling with the square root of the step."""
    warmup = max(warmup, 1)
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def noam(step: int, factor: float, d_model: int, warmup: int) -> float:
    """The formula of 2017, times a factor."""
    return factor * d_model**-0.5 * min(step**-0.5, step * max(warmup, 1) ** -1.5)


def linear(step: int, peak: float, warmup: int, steps: int) -> float:
    """Up to the peak over the warm-up, then straight down, so that the last step is small but not lost."""
    if step <= warmup:
        return peak * step / warmup
    return peak * (steps + 1 - step) / (steps + 1 - warmup)


def learning_rate(config: TrainingConfig, step: int, d_model: int) -> float:
    """The learning rate that a config gives to a step."""
    if config.schedule == "noam":
        if not d_model:
            raise ValueError('training.schedule="noam" goes by d_model, of which this model has several; choose linear')
        return noam(step, config.learning_rate, d_model, config.warmup)
    if config.schedule == "inverse-sqrt":
        return inverse_sqrt(step, config.learning_rate, config.warmup)
    return linear(step, config.learning_rate, config.warmup, config.steps)
