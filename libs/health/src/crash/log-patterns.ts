/** Which log lines precede a crash, and which class of crash do they show? */
import type { CrashClass } from '@coxswain/api-types';

/** The program that writes the line, and the pattern as `line-pattern.ts` reads it. */
interface LogPattern {
  readonly class: CrashClass;
  readonly says: readonly string[];
  readonly by: string;
}

/**
 * The first pattern that matches any line wins. Causes stand before their consequences: a GPU without memory makes its peers lose their connections, and
 * each Python error ends in a traceback.
 */
export const LOG_PATTERNS: readonly LogPattern[] = [
  { class: 'GpuLost', says: ['GPU has fallen off the bus', 'GPU is lost.'], by: 'NVIDIA driver, nvidia-smi' },
  {
    class: 'GpuMemoryError',
    says: ['uncorrectable ECC error encountered', 'CUDA_ERROR_ECC_UNCORRECTABLE'],
    by: 'CUDA',
  },
  {
    class: 'NvlinkError',
    says: [
      'uncorrectable NVLink error detected',
      'usually caused by a system or configuration error in the Fabric Manager',
    ],
    by: 'CUDA, NCCL',
  },
  {
    class: 'GpuUnavailable',
    says: [
      'no CUDA-capable device is detected',
      'CUDA-capable device(s) is/are busy or unavailable',
      'system not yet initialized',
      'No CUDA GPUs are available',
      'Failed to initialize NVML',
    ],
    by: 'CUDA, torch',
  },
  {
    class: 'GpuOutOfMemory',
    says: [
      'CUDA out of memory',
      'torch.OutOfMemoryError',
      'CUDA error: out of memory',
      "CUDA failure 2 'out of memory'",
    ],
    by: 'torch, CUDA, NCCL',
  },
  {
    class: 'SharedMemoryFull',
    says: [
      'killed by signal: Bus error',
      'unexpected bus error encountered in worker',
      'insufficient shared memory (shm)',
      'Error while creating shared memory segment /dev/shm',
      'No space left on device*/dev/shm',
      '/dev/shm*No space left on device',
    ],
    by: 'torch DataLoader, NCCL',
  },
  {
    class: 'HostOutOfMemory',
    says: ['is killed by signal: Killed', 'Cannot allocate memory', "DefaultCPUAllocator: can't allocate memory"],
    by: 'torch DataLoader, torch, the system',
  },
  {
    class: 'DiskFull',
    says: ['No space left on device', 'Disk quota exceeded'],
    by: 'the system',
  },
  {
    class: 'StorageError',
    says: [
      'Stale file handle',
      'Input/output error',
      'Read-only file system',
      'Transport endpoint is not connected',
      'PytorchStreamWriter failed writing file',
    ],
    by: 'the system, torch',
  },
  { class: 'AddressInUse', says: ['EADDRINUSE', 'Address already in use'], by: 'torch TCPStore, the system' },
  {
    class: 'NetworkError',
    says: ['NET/IB*Got completion from peer', 'NET/IB*Got async*error', 'No route to host', 'Network is unreachable'],
    by: 'NCCL, the system',
  },
  {
    class: 'AccessDenied',
    says: ['GatedRepoError', '401 Client Error', '403 Client Error', 'You are trying to access a gated repo'],
    by: 'huggingface_hub',
  },
  {
    class: 'DownloadFailed',
    says: [
      "couldn't connect to 'https://huggingface.co'",
      'Max retries exceeded with url',
      'Temporary failure in name resolution',
      'OfflineModeIsEnabled',
      'LocalEntryNotFoundError',
    ],
    by: 'huggingface_hub, requests, the system',
  },
  {
    class: 'IllegalMemoryAccess',
    says: ['an illegal memory access was encountered', 'CUDA error: misaligned address', 'CUDA_ERROR_ILLEGAL_ADDRESS'],
    by: 'CUDA',
  },
  { class: 'DeviceAssertion', says: ['device-side assert triggered'], by: 'CUDA' },
  {
    class: 'Diverged',
    says: [
      'Unexpected result nan on rank',
      'Unexpected result inf on rank',
      'found NaN in local',
      'found Inf in local',
      'NaN in local forward loss',
    ],
    by: 'Megatron',
  },
  {
    class: 'CheckpointMismatch',
    says: ['Error(s) in loading state_dict', 'size mismatch for *: copying a param with shape'],
    by: 'torch',
  },
  {
    class: 'ImportFailed',
    says: ['ModuleNotFoundError:', 'ImportError:', 'cannot open shared object file'],
    by: 'Python, the loader of the system',
  },
  { class: 'SyntaxFailed', says: ['SyntaxError:', 'IndentationError:'], by: 'Python' },
  {
    class: 'BadArguments',
    says: [
      'error: unrecognized arguments:',
      'error: the following arguments are required:',
      'error: argument *: invalid',
    ],
    by: 'argparse',
  },
  {
    class: 'CollectiveTimeout',
    says: [
      'Watchdog caught collective operation timeout',
      'ran for * milliseconds before timing out',
      'Timed out waiting*ms for recv operation to complete',
      'store->get(*got error: Socket Timeout',
      'Timed out after * waiting for',
    ],
    by: 'torch ProcessGroupNCCL, gloo, TCPStore',
  },
  { class: 'FileMissing', says: ['FileNotFoundError:', 'Dataset does not exist:'], by: 'Python, Megatron' },
  { class: 'PermissionDenied', says: ['PermissionError:', 'errno: 13 - Permission denied'], by: 'Python, torch' },
  { class: 'AssertionFailed', says: ['AssertionError'], by: 'Python' },
  { class: 'CudaError', says: ['CUDA error:', 'cudaError'], by: 'torch, CUDA' },
  {
    class: 'NcclError',
    says: ['NCCL error in', 'ncclSystemError', 'ncclInternalError', 'ncclUnhandledCudaError', 'ncclInvalidUsage'],
    by: 'torch, NCCL',
  },
];
