"""Which rank plays which part: tensor fastest, then data, then pipeline, as Megatron's `tp-cp-ep-dp-pp`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Layout:
    """The degrees of parallelism and one rank's place among them."""

    rank: int
    tensor_parallel_degree: int
    pipeline_parallel_degree: int
    data_parallel_degree: int

    @property
    def world_size(self) -> int:
        return self.tensor_parallel_degree * self.pipeline_parallel_degree * self.data_parallel_degree

    @property
    def tensor_rank(self) -> int:
        return self.rank % self.tensor_parallel_degree

    @property
    def data_rank(self) -> int:
        return self.rank // self.tensor_parallel_degree % self.data_parallel_degree

    @property
    def stage(self) -> int:
        """The pipeline stage, 0 holding the embedding."""
        return self.rank // (self.tensor_parallel_degree * self.data_parallel_degree)

    @property
    def is_first_stage(self) -> bool:
        return self.stage == 0

    @property
    def is_last_stage(self) -> bool:
        return self.stage == self.pipeline_parallel_degree - 1

    @cached_property
    def tensor_group(self) -> list[int]:
        """The ranks that share this rank's layers and samples, in tensor order."""
        return [self._rank_at(t, self.data_rank, self.stage) for t in range(self.tensor_parallel_degree)]

    @cached_property
    def data_group(self) -> list[int]:
        """The ranks that hold the same part of the model and see other samples."""
        return [self._rank_at(self.tensor_rank, d, self.stage) for d in range(self.data_parallel_degree)]

    @cached_property
    def pipeline_group(self) -> list[int]:
        """The ranks through which a sample passes, first stage first."""
        return [self._rank_at(self.tensor_rank, self.data_rank, p) for p in range(self.pipeline_parallel_degree)]

    def layers_of_stage(self, layers: int) -> range:
        """The global numbers of the layers that this rank's stage holds; `layers` is divisible by the stages."""
        per_stage = layers // self.pipeline_parallel_degree
        return range(self.stage * per_stage, (self.stage + 1) * per_stage)

    def _rank_at(self, tensor_rank: int, data_rank: int, stage: int) -> int:
        return tensor_rank + self.tensor_parallel_degree * (data_rank + self.data_parallel_degree * stage)
