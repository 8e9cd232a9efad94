"""Saves and loads the training state as a PyTorch distributed checkpoint, and knows when a save is complete.

Every value is stored under a name and shape that do not depend on the layout: `model.<parameter>` (the fp32 weights),
`optimizer.exp_avg.<parameter>`, `optimizer.exp_avg_sq.<parameter>`, and the scalars of `training`. Each rank writes the
boxes whose optimizer state it owns, so nothing is written twice, and reads the boxes it owns under its own layout.

A save copies the state to host memory and goes on in a thread with a gloo group of its own. It ends in three steps: all
ranks' files are on disk; rank 0 writes the manifest; rank 0 tells the others, so that all ranks agree on the outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from coxswain_agent import Reporter

from coxswain_reference.errors import CheckpointRefused, CheckpointUnreadable
from coxswain_reference.manifest import (
    FileEntry,
    Manifest,
    check_contents,
    describe_file,
    step_directory,
    sync_directory,
    write_manifest,
)
from coxswain_reference.optimizer import OwnedShard, ShardedAdamW
from coxswain_reference.parallel.groups import COLLECTIVE_TIMEOUT
from coxswain_reference.progress import Progress
from coxswain_reference.saved_metadata import read_metadata
from coxswain_reference.settings import Settings
from coxswain_reference.shards import without_padding

if TYPE_CHECKING:
    from torch.distributed.checkpoint.metadata import Metadata

_PREFIXES = {'master': 'model', 'exp_avg': 'optimizer.exp_avg', 'exp_avg_sq': 'optimizer.exp_avg_sq'}


class CheckpointWriter:
    """Saves one checkpoint at a time. Every rank calls the same methods in the same order."""

    def __init__(self, settings: Settings, reporter: Reporter) -> None:
        self._settings = settings
        self._reporter = reporter
        self._rank = settings.process.rank
        self._group = io_group()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self.last_step: int | None = None
        """The step of the newest save that was begun."""

    @property
    def group(self) -> dist.ProcessGroup:
        """The gloo group of all ranks that saving uses; free between `wait` and `start`."""
        return self._group

    @property
    def is_saving(self) -> bool:
        """Whether this rank's part of a save still goes on."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, optimizer: ShardedAdamW, progress: Progress) -> None:
        """Copies the state and begins to write it; first waits for the save before, if that still goes on."""
        self.wait()
        copies = {name: state.detach().to('cpu', copy=True) for name, state in optimizer.states.items()}
        is_first_tensor_rank = self._settings.layout.tensor_rank == 0
        tensors = checkpoint_tensors(optimizer.owned, copies, with_common=is_first_tensor_rank)
        tensors.update(progress.to_tensors())
        self.last_step = progress.step
        self._thread = threading.Thread(target=self._save, args=(tensors, progress), name='checkpoint', daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises what went wrong in a save that has ended; never waits."""
        if self._thread is not None and not self._thread.is_alive():
            self.wait()

    def wait(self) -> None:
        """Waits until the save that goes on, if any, is complete on all ranks; raises what went wrong in it."""
        if self._thread is None:
            return
        self._thread.join()
        self._thread = None
        if self._error is not None:
            raise self._error

    def _save(self, tensors: dict[str, torch.Tensor], progress: Progress) -> None:
        try:
            self._write(tensors, progress)
        except BaseException as error:  # noqa: BLE001 - carried to the main thread, which raises it
            self._error = error

    def _write(self, tensors: dict[str, torch.Tensor], progress: Progress) -> None:
        import torch.distributed.checkpoint as dcp  # takes seconds, which need not delay the first step

        directory = self._settings.save_dir / step_directory(progress.step)
        directory.mkdir(parents=True, exist_ok=True)
        writer = dcp.FileSystemWriter(directory, sync_files=True)
        dcp.save(tensors, storage_writer=writer, process_group=self._group)
        own = [describe_file(directory, name) for name in self._own_files(directory)]
        files = self._gather(own)
        problem: list[str | None] = [None]
        if self._rank == 0:
            try:
                self._complete(directory, progress, files)
            except OSError as error:
                problem = [f'Checkpoint {directory} could not be completed: {error}.']
        dist.broadcast_object_list(problem, src=0, group=self._group)
        if problem[0] is not None:
            raise RuntimeError(problem[0])

    def _own_files(self, directory: Path) -> list[str]:
        names = [path.name for path in directory.glob(f'__{self._rank}_*.distcp')]
        return [*names, '.metadata'] if self._rank == 0 else names

    def _gather(self, own: list[FileEntry]) -> list[FileEntry]:
        everyones: list[list[FileEntry]] | None = None
        if self._rank == 0:
            everyones = [[] for _ in range(dist.get_world_size(self._group))]
        dist.gather_object(own, everyones, dst=0, group=self._group)
        return [entry for entries in everyones or [] for entry in entries]

    def _complete(self, directory: Path, progress: Progress, files: list[FileEntry]) -> None:
        sync_directory(directory)
        tokens = progress.samples * self._settings.model.sequence_length
        sha256 = write_manifest(directory, self._settings, step=progress.step, tokens_seen=tokens, files=files)
        self._reporter.checkpoint_saved(
            step=progress.step,
            directory=directory.name,
            size_bytes=sum(entry.bytes for entry in files),
            files=len(files),
            manifest_sha256=sha256,
        )


def io_group() -> dist.ProcessGroup:
    """A gloo group of all ranks for checkpoints, so that saving in a thread never meets the training's collectives."""
    return dist.new_group(backend='gloo', timeout=COLLECTIVE_TIMEOUT)


def verify_together(directory: Path, manifest: Manifest, group: dist.ProcessGroup) -> None:
    """Every rank hashes its share of the files; all raise CheckpointRefused when one finds damage."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    problem: CheckpointRefused | None = None
    try:
        check_contents(directory, manifest.files[rank::ranks])
    except CheckpointRefused as error:
        problem = error
    told = None if problem is None else (type(problem) is CheckpointUnreadable, str(problem), problem.fault)
    everyones: list[tuple[bool, str, dict[str, str] | None] | None] = [None] * ranks
    dist.all_gather_object(everyones, told, group=group)
    if problem is not None:
        raise problem
    found = next((one for one in everyones if one is not None), None)
    if found is not None:
        is_unreadable, text, fault = found
        # Content is the same everywhere; trouble with reading is that of the rank's node, which tells it itself.
        raise CheckpointUnreadable(text) if is_unreadable else CheckpointRefused(text, fault)


def load(
    directory: Path, optimizer: ShardedAdamW, group: dist.ProcessGroup, *, reads_by_plan: bool = True
) -> Progress:
    """Fills the optimizer's state, whatever layout it was saved at. The weights are not yet shared with the model."""
    import torch.distributed.checkpoint as dcp

    reader = _reader(directory, read_metadata(directory), reads_by_plan)
    # A box that the checkpoint does not cover would silently keep its old values: not-a-number makes it seen.
    for shard in optimizer.owned:
        for state in optimizer.states.values():
            state[shard.begin : shard.end] = 0.0 if _is_padding_only(shard) else float('nan')
    tensors = checkpoint_tensors(optimizer.owned, optimizer.states, with_common=True)
    scalars = Progress(0, 0, 0).to_tensors()
    try:
        dcp.load({**tensors, **scalars}, storage_reader=reader, process_group=group)
    except dcp.CheckpointException as error:
        raise CheckpointRefused(f'{directory} cannot be loaded: {_causes(error)}.') from error
    for name, tensor in tensors.items():
        if tensor.isnan().any():
            raise CheckpointRefused(
                f'{directory} does not hold the whole of {name}, or holds values that are no numbers.'
            )
    _zero_padding(optimizer)
    return Progress(**{name: int(scalars[f'training.{name}']) for name in vars(Progress(0, 0, 0))})


def checkpoint_tensors(
    owned: list[OwnedShard], states: Mapping[str, torch.Tensor], *, with_common: bool
) -> dict[str, torch.Tensor]:
    """Views of flat `states` as parts of global tensors, in the form that PyTorch's checkpoints understand.

    `with_common` False leaves out what tensor-parallel peers hold in common and another of them writes.
    """
    tensors: dict[str, torch.Tensor] = {}
    for shard in owned:
        box = without_padding(shard.box, shard.cut)
        if box.elements == 0 or (shard.cut.axis is None and not with_common):
            continue
        for state, prefix in _PREFIXES.items():
            view = states[state][shard.begin : shard.begin + box.elements].view(box.sizes)
            tensors[f'{prefix}.{shard.name}'] = _part_of_global(view, shard.cut.shape, box.offsets)
    return tensors


def _part_of_global(part: torch.Tensor, shape: tuple[int, ...], offsets: tuple[int, ...]) -> torch.Tensor:
    """Marks `part` by the attributes of `torch.distributed.checkpoint.protocol.CheckpointableTensor`."""
    part.global_shape = torch.Size(shape)  # type: ignore[attr-defined]
    part.global_offsets = [offsets]  # type: ignore[attr-defined]
    part.local_offsets = [(0,) * part.ndim]  # type: ignore[attr-defined]
    part.local_sizes = [tuple(part.shape)]  # type: ignore[attr-defined]
    return part


def _is_padding_only(shard: OwnedShard) -> bool:
    return without_padding(shard.box, shard.cut).elements == 0


def _zero_padding(optimizer: ShardedAdamW) -> None:
    for shard in optimizer.owned:
        true = without_padding(shard.box, shard.cut).elements
        for state in optimizer.states.values():
            state[shard.begin + true : shard.end] = 0.0


def _causes(error: Any) -> str:
    first = next(iter(error.failures.values()), (error,))
    return str(first[0]).rstrip('.')


def _reader(directory: Path, metadata: Metadata, reads_by_plan: bool) -> Any:
    """A reader, given metadata that was read safely; it reads the tensors themselves safely already."""
    import torch.distributed.checkpoint as dcp
    from coxswain_agent.planned_reader import PlannedReader
    from torch.distributed.checkpoint.metadata import StorageMeta

    base: Any = PlannedReader if reads_by_plan else dcp.FileSystemReader

    class Reader(base):
        def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
            metadata.storage_meta = metadata.storage_meta or StorageMeta()
            metadata.storage_meta.load_id = self.load_id
            return metadata

    return Reader(directory)
