import type { CrashBlame, CrashClass } from '@coxswain/api-types';
import { classifyCrash } from './classify-crash.ts';

const TRACEBACK = ['Traceback (most recent call last):', '  File "/app/train.py", line 12, in <module>', '    main()'];
const ASYNC_NOTE =
  'CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.';

/** As engines, NCCL, CUDA and the system write them. */
const LAST_LINES: readonly (readonly [string, readonly string[], CrashClass, CrashBlame])[] = [
  [
    'torch has no GPU memory left',
    [
      ...TRACEBACK,
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 29.76 GiB. GPU 0 has a total capacity of 79.11 GiB of which 11.06 MiB is free.',
    ],
    'GpuOutOfMemory',
    'program',
  ],
  [
    'torch of 2022 has none either',
    [
      'RuntimeError: CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already allocated)',
    ],
    'GpuOutOfMemory',
    'program',
  ],
  [
    'a rank has no memory, and those beside it lost it',
    [
      '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB.',
      'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.',
    ],
    'GpuOutOfMemory',
    'program',
  ],
  [
    'the watchdog of torch ends a collective',
    [
      '[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.',
      '[rank0]:[E321 02:07:08.465150152 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579.',
    ],
    'CollectiveTimeout',
    'unknown',
  ],
  [
    'a rank never came to the store',
    [
      "torch.distributed.DistBackendError: [4] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout",
    ],
    'RendezvousFailed',
    'network',
  ],
  [
    'not all workers joined',
    ['torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.'],
    'RendezvousFailed',
    'network',
  ],
  [
    'a kernel reads where it may not',
    ['RuntimeError: CUDA error: an illegal memory access was encountered', ASYNC_NOTE],
    'IllegalMemoryAccess',
    'unknown',
  ],
  [
    'C++ says so',
    [
      "terminate called after throwing an instance of 'c10::Error'",
      '  what():  CUDA error: an illegal memory access was encountered',
    ],
    'IllegalMemoryAccess',
    'unknown',
  ],
  [
    'memory of the GPU is broken',
    ['RuntimeError: CUDA error: uncorrectable ECC error encountered', ASYNC_NOTE],
    'GpuMemoryError',
    'node',
  ],
  [
    'an index is beyond a table',
    ['RuntimeError: CUDA error: device-side assert triggered', ASYNC_NOTE],
    'DeviceAssertion',
    'program',
  ],
  [
    'another process has the GPU',
    ['RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable'],
    'GpuUnavailable',
    'node',
  ],
  [
    'the fabric manager does not run',
    [
      'RuntimeError: cuda runtime error (802) : system not yet initialized at /opt/conda/aten/src/THC/THCGeneral.cpp:50',
    ],
    'GpuUnavailable',
    'node',
  ],
  [
    'NVLink SHARP cannot be bound',
    [
      'ncclUnhandledCudaError: Call to CUDA function failed.',
      'Last error:',
      "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 'the operation cannot be performed in the present state'.",
      'This is usually caused by a system or configuration error in the Fabric Manager or NVSwitches.',
    ],
    'NvlinkError',
    'node',
  ],
  [
    'CUDA says something else',
    ['RuntimeError: CUDA error: unspecified launch failure', ASYNC_NOTE],
    'CudaError',
    'unknown',
  ],
  [
    '/dev/shm is full, as a worker of the data loader finds',
    [
      "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
    ],
    'SharedMemoryFull',
    'environment',
  ],
  [
    '/dev/shm is full, as NCCL finds',
    [
      'ubuntu:9621:9688 [3] misc/shmutils.cc:112 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-KWfVyt (size 5967872)',
    ],
    'SharedMemoryFull',
    'environment',
  ],
  [
    'the kernel killed a worker of the data loader',
    ['RuntimeError: DataLoader worker (pid 2978) is killed by signal: Killed.'],
    'HostOutOfMemory',
    'program',
  ],
  [
    'the host has no memory left',
    [
      "RuntimeError: [enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 402653184 bytes. Error code 12 (Cannot allocate memory).",
    ],
    'HostOutOfMemory',
    'program',
  ],
  ['a disk is full', [...TRACEBACK, 'OSError: [Errno 28] No space left on device'], 'DiskFull', 'storage'],
  ['a quota is spent', ["OSError: [Errno 122] Disk quota exceeded: '/data/ckpt'"], 'DiskFull', 'storage'],
  ['NFS lost a file', ['OSError: [Errno 116] Stale file handle'], 'StorageError', 'storage'],
  [
    'a read of a checkpoint failed',
    ['RuntimeError: read(): fd 33 failed with Stale file handle'],
    'StorageError',
    'storage',
  ],
  ['a write of a checkpoint failed', ['OSError: [Errno 5] Input/output error'], 'StorageError', 'storage'],
  [
    'torch could not write a checkpoint',
    [
      'RuntimeError: [enforce fail at inline_container.cc:857] . PytorchStreamWriter failed writing file data/322: file write failed',
    ],
    'StorageError',
    'storage',
  ],
  [
    'the port is taken',
    [
      'torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use',
    ],
    'AddressInUse',
    'cluster',
  ],
  [
    'the port is taken, as torch of 2023 says',
    ['RuntimeError: The server socket has failed to bind to [::]:44796 (errno: 98 - Address already in use).'],
    'AddressInUse',
    'cluster',
  ],
  [
    'a NIC gives up sending',
    [
      'host-a:984:1357 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 172.36.143.59<44206> with status=12 opcode=129 len=65536 vendor err 129 (Recv) localGid ::ffff:29.87.88.182',
      'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.',
    ],
    'NetworkError',
    'network',
  ],
  [
    'a port of a NIC fails',
    ['x:34050:34121 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error'],
    'NetworkError',
    'network',
  ],
  [
    'no way leads to a peer',
    ['socketStartConnect: Connect to 192.168.19.14<52822> failed : No route to host'],
    'NetworkError',
    'network',
  ],
  [
    'NCCL says something else',
    [
      'torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, internal error, NCCL version 2.18.6',
      'ncclInternalError: Internal check failed.',
    ],
    'NcclError',
    'unknown',
  ],
  [
    'NCCL lost its peer',
    [
      'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2252, remote process exited or there was a network error',
      'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.',
    ],
    'PeerLost',
    'unknown',
  ],
  [
    'gloo lost its peer',
    [
      'RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:1',
    ],
    'PeerLost',
    'unknown',
  ],
  [
    'a model is gated',
    [
      'huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-66f4b037-1bf3d7d219afbc904ee05694;5601d2c9)',
      'Access to model black-forest-labs/FLUX.1-dev is restricted. You must have access to it and be authenticated to access it. Please log in.',
    ],
    'AccessDenied',
    'program',
  ],
  [
    'the hub cannot be reached',
    [
      "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /gpt2/resolve/main/config.json",
    ],
    'DownloadFailed',
    'network',
  ],
  [
    'a gradient of Megatron is NaN',
    [
      "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 3 at iteration #3 invocation #2 (message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication collective')",
    ],
    'Diverged',
    'program',
  ],
  [
    'shapes are not those of the checkpoint',
    [
      'RuntimeError: Error(s) in loading state_dict for MegatronBertForMaskedLM:',
      '\tsize mismatch for cls.predictions.bias: copying a param with shape torch.Size([30592]) from checkpoint, the shape in current model is torch.Size([29056]).',
    ],
    'CheckpointMismatch',
    'program',
  ],
  [
    'a module is missing',
    [...TRACEBACK, "ModuleNotFoundError: No module named 'flash_attn'"],
    'ImportFailed',
    'program',
  ],
  [
    'a library is missing',
    ['ImportError: libcudart.so.12: cannot open shared object file: No such file or directory'],
    'ImportFailed',
    'program',
  ],
  [
    'a file cannot be parsed',
    ['    def main(:', '             ^', 'SyntaxError: invalid syntax'],
    'SyntaxFailed',
    'program',
  ],
  [
    'an option does not exist',
    ['usage: pretrain_gpt.py [-h]', 'pretrain_gpt.py: error: unrecognized arguments: --tensor-parallel 8'],
    'BadArguments',
    'program',
  ],
  [
    'an option has no such value',
    ["train.py: error: argument --steps: invalid int value: 'many'"],
    'BadArguments',
    'program',
  ],
  [
    'an assertion fails',
    [...TRACEBACK, '    assert args.world_size % tp == 0', 'AssertionError'],
    'AssertionFailed',
    'program',
  ],
  [
    'a file is not there',
    ["FileNotFoundError: [Errno 2] No such file or directory: '/data/train.bin'"],
    'FileMissing',
    'program',
  ],
  ['Megatron finds no data', ['Dataset does not exist: /data/openwebtext/subset-01'], 'FileMissing', 'program'],
  ['a file may not be read', ["PermissionError: [Errno 13] Permission denied: '/data'"], 'PermissionDenied', 'program'],
  ['another exception', [...TRACEBACK, "KeyError: 'input_ids'"], 'PythonException', 'program'],
  [
    'the data claim is read-only, whatever its storage',
    ["OSError: [Errno 30] Read-only file system: '/coxswain/data/corpus.idx'"],
    'PermissionDenied',
    'program',
  ],
  ...[
    'struct.error: unpack requires a buffer of 4 bytes',
    'queue.Empty',
    '_queue.Empty',
    'Empty',
    'cv2.error: bad flag',
  ]
    .concat('ray.exceptions.RayTaskError(KeyError): ray::train()', 'zlib.error: Error -3')
    .map((raised): (typeof LAST_LINES)[number] => [
      `the line after the frames of a traceback names the exception: ${raised}`,
      [...TRACEBACK, '    batch = read(path)', '            ^^^^^^^^^^', raised],
      'PythonException',
      'program',
    ]),
  ['what follows a stack without an exception', [...TRACEBACK, 'step done in 3 s'], 'Unknown', 'unknown'],
  ['another exception, of a rank', ['[rank3]: my.module.ConfigError: no such preset'], 'PythonException', 'program'],
  ['nothing is said', [], 'Unknown', 'unknown'],
  ['nothing is said that is known', ['iteration 100 | loss 2.31', 'bye'], 'Unknown', 'unknown'],
];

describe('what last lines tell', () => {
  it.each(LAST_LINES)('%s', (_sentence, lastLines, name, blame) => {
    expect(classifyCrash({ lastLines, exitCode: 1 })).toMatchObject({ class: name, blame });
  });
});
