"""Time and tokens of training steps, between two logged rows."""


class Stopwatch:
    """Time and tokens of steps since the last reading; what lies between steps does not count."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.seconds, self.waited, self.tokens, self.steps = 0.0, 0.0, 0, 0

    def add(self, seconds: float, waited: float, tokens: int) -> None:
        """One more step."""
        self.seconds += seconds
        self.waited += waited
        self.tokens += tokens
        self.steps += 1

    def read(self) -> dict[str, float]:
        """Means since the last reading, and start anew."""
        row = {
            "time/step_s": self.seconds / self.steps,
            "time/data_s": self.waited / self.steps,
            "throughput/tokens_per_s": self.tokens / self.seconds,
        }
        self._clear()
        return row
