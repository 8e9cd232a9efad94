import { isConsequence, lostItsPeer } from './lost-peer.ts';
import { isProgressMark, progressMark } from './progress-mark.ts';

const GLOO =
  'RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:1';
const STORE =
  'torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?';
const NCCL = [
  'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2252, remote process exited or there was a network error',
  'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.',
];

describe('whether a rank failed after another one', () => {
  it.each<[string, readonly string[], boolean]>([
    ['gloo lost its peer', ['Traceback (most recent call last):', GLOO], true],
    ['NCCL lost its peer', NCCL, true],
    [
      'NCCL says so a line later',
      ['torch.distributed.DistBackendError: NCCL error in: Utils.hpp:1', NCCL[1] ?? ''],
      true,
    ],
    ['the store lost its host', [STORE], true],
    ['each of several ranks did', [GLOO, GLOO, STORE], true],
    ['torch writes the rank in front', [`[rank1]: ${GLOO}`], true],
    ['a peer in the same pod failed by itself', ['ValueError: planted', GLOO], false],
    [
      'a peer in the same pod failed by itself, with its rank in front',
      ['[rank0]: ValueError: planted', `[rank1]: ${GLOO}`],
      false,
    ],
    ['it failed without a word', [], false],
    ['it failed by itself', ['torch.OutOfMemoryError: CUDA out of memory.'], false],
  ])('%s', (_sentence, lines, want) => {
    expect(lostItsPeer(lines)).toBe(want);
  });
});

describe('whether a rank ended because of another one', () => {
  const WATCHDOG =
    '[rank0]:[E321 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)';
  it.each<[string, readonly string[], boolean]>([
    ['it lost its peer', [GLOO], true],
    ['its watchdog ended it', [WATCHDOG], true],
    [
      'its watchdog ended it, and torch raised that',
      [WATCHDOG, 'torch.distributed.DistBackendError: NCCL error in: a'],
      true,
    ],
    [
      'its communicator was aborted',
      ['torch.distributed.DistBackendError: NCCL communicator was aborted on rank 3.'],
      true,
    ],
    ['it raised an error of its own before', ["KeyError: 'x'", WATCHDOG], false],
    ['it failed by itself', ["KeyError: 'x'"], false],
    ['nothing is known', [], false],
  ])('%s', (_what, lines, want) => {
    expect(isConsequence(lines)).toBe(want);
  });
});

it('the mark behind lines that a rank survived is known by its form', () => {
  expect(isProgressMark(progressMark(502))).toBe(true);
  expect(isProgressMark('[launcher] The rank trained on')).toBe(false);
});
