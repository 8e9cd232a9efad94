import { lostItsPeer } from './lost-peer.ts';

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
