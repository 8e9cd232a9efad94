/** Classes of crashes, and what each class blames. `libs/health` has the rules that classify a crash. */

/**
 * Whose doing a failure is. `program`: the program, its arguments, its image, or what the job asks for. `environment`: a limit, a service or a library around
 * the program that is no network and no storage. `unknown`: one crash does not show it.
 */
export const CRASH_BLAMES = ['node', 'program', 'network', 'storage', 'cluster', 'unknown', 'environment'] as const;
/** What a crash class blames. */
export type CrashBlame = (typeof CRASH_BLAMES)[number];

/** Each class with whom it blames, what it means, and what a person does about it. */
export const CRASH_CLASSES = {
  GpuLost: {
    blame: 'node',
    meaning: 'A GPU fell off its bus.',
    advice: 'Reboot the node; if it happens again, check the GPU, its cables and its power.',
  },
  GpuMemoryError: {
    blame: 'node',
    meaning: 'Memory of a GPU had an error that could not be corrected (ECC).',
    advice: 'Drain the node and reset the GPU; replace it where rows cannot be remapped or the error returns.',
  },
  NvlinkError: {
    blame: 'node',
    meaning: 'NVLink or an NVSwitch failed.',
    advice: 'Drain the node and reset its GPUs; if it happens again, check the link.',
  },
  GpuFault: {
    blame: 'node',
    meaning: 'The driver of a GPU reported a fault that needs a reset (an XID).',
    advice: 'Drain the node and follow the recovery action that the driver reports, or reset the GPU.',
  },
  GpuUnavailable: {
    blame: 'node',
    meaning: 'The program found no GPU that it could use, or the driver of the node does not work with it.',
    advice:
      'Check driver, fabric manager and device plugin of the node, and other processes on its GPUs. If every node fails so, the image needs a newer driver.',
  },
  CudaLibraryFailed: {
    blame: 'environment',
    meaning:
      'cuBLAS, cuDNN or another CUDA library could not start or allocate: GPU memory is taken, or the driver does not match.',
    advice:
      'Check with nvidia-smi whether another process holds memory of that GPU; then use a smaller micro-batch, or an image that fits the driver.',
  },
  NodeOutOfMemory: {
    blame: 'node',
    meaning: 'The node has no memory left, although the pod is within its limit.',
    advice: 'Check what else runs on the node, and whether its pods request the memory that they use.',
  },
  NodeUnhealthy: {
    blame: 'node',
    meaning: 'A condition of the node reports a problem.',
    advice: 'Drain the node and check the named condition.',
  },
  MaintenanceDue: {
    blame: 'cluster',
    meaning: 'The node is to be taken away for maintenance.',
    advice: 'No action needed: the job continues on other nodes.',
  },
  Disrupted: {
    blame: 'cluster',
    meaning: 'The pod was evicted, preempted, drained or asked to stop.',
    advice: 'No action needed: the job continues on other nodes.',
  },
  GpuOutOfMemory: {
    blame: 'program',
    meaning: 'The GPU has too little memory for what the program asks for.',
    advice:
      'Use a smaller micro-batch, activation checkpointing, or a layout with more shards: `coxswain plan` predicts the peak.',
  },
  HostOutOfMemory: {
    blame: 'program',
    meaning: 'The pod used more memory of its node than it may.',
    advice: 'Raise resources.memoryPerGpu, or lower the number of data loader workers.',
  },
  SharedMemoryFull: {
    blame: 'environment',
    meaning: '/dev/shm is full or too small for the workers of the data loader or for NCCL.',
    advice: 'Lower the number of data loader workers or what each prefetches, or give the runtime a larger /dev/shm.',
  },
  ScratchFull: {
    blame: 'program',
    meaning: 'The pod wrote more to the disk of its node than its limit allows.',
    advice: 'Raise spec.scratch.sizeLimit, or write less there: caches, logs and core dumps count.',
  },
  DiskFull: {
    blame: 'storage',
    meaning: 'A file system has no space left, or a quota is spent.',
    advice: 'Delete what is not needed, raise the quota, or give scratch a claim of its own.',
  },
  StorageError: {
    blame: 'storage',
    meaning: 'A file system answered with an error.',
    advice: 'Look at the storage that is named, and at its mount on the node.',
  },
  ObjectStoreFailed: {
    blame: 'storage',
    meaning:
      'An object store (S3, GCS, Azure) did not answer, answered with an error of its own, or asked for fewer requests.',
    advice:
      'Check the endpoint and its status page. If it asks for fewer requests, read larger objects or with fewer workers.',
  },
  MountMissing: {
    blame: 'storage',
    meaning: 'A file system was not mounted when the program needed it, or its mount went away.',
    advice: 'Check the mount and its driver on the node. If every attempt fails so, check the path in the arguments.',
  },
  RendezvousFailed: {
    blame: 'network',
    meaning:
      'The ranks did not find each other: the store of rank 0 (c10d, etcd) could not be reached, or not every rank came in time.',
    advice:
      'Check whether the pod of rank 0 ran then, whether network policies allow its port between the nodes, and that the world size of the program is WORLD_SIZE.',
  },
  WorldSizeDiffers: {
    blame: 'program',
    meaning: 'Every rank of the job came, and the program waits for another number of ranks.',
    advice:
      'Check that the world size of the program is WORLD_SIZE and no constant: the process group waits for ranks that the job does not have.',
  },
  NameResolutionFailed: {
    blame: 'network',
    meaning: 'A host name could not be resolved.',
    advice: 'Check DNS of the cluster (CoreDNS), and the spelling of the name.',
  },
  NetworkError: {
    blame: 'network',
    meaning: 'A NIC, the network between nodes, or a connection failed.',
    advice: 'Check link and port counters of the nodes that are named, and their switch.',
  },
  NcclSystemError: {
    blame: 'environment',
    meaning: 'NCCL could not use a socket, a NIC, its network plugin or another service of the system.',
    advice:
      'Run with NCCL_DEBUG=INFO, which names the call. Check NCCL_SOCKET_IFNAME and NCCL_IB_HCA, and that the pod gets the RDMA devices.',
  },
  LimitReached: {
    blame: 'environment',
    meaning:
      'A limit of the pod or its node was reached: locked memory (memlock), open files, processes or threads, CPU time (SIGXCPU), size of a file (SIGXFSZ).',
    advice:
      'Raise the limit (ulimit -l, -n, -u, -t, -f) in the image or in the container runtime of the nodes; for RDMA, memlock must be unlimited.',
  },
  TrackerFailed: {
    blame: 'environment',
    meaning: 'An experiment tracker (W&B, MLflow, Comet, ClearML, Neptune) did not answer.',
    advice: 'Check the status of the tracker, or let the program log offline (for W&B: WANDB_MODE=offline).',
  },
  CertificateInvalid: {
    blame: 'environment',
    meaning: 'A TLS certificate was not accepted: it has expired, or the image does not know who signed it.',
    advice: 'Renew the certificate, or add the certificate authority to the image.',
  },
  ClockSkewed: {
    blame: 'node',
    meaning:
      'A service refused the clock of the node: a certificate is not valid yet, or the time of a request is too far off.',
    advice: 'Check time synchronisation (chrony, NTP) of the node.',
  },
  DownloadFailed: {
    blame: 'network',
    meaning:
      'Something could not be downloaded: the server did not answer, or answered with an error of its own or 429.',
    advice: 'Put model and data onto a claim beforehand, or check the network access of the cluster to the outside.',
  },
  AddressInUse: {
    blame: 'cluster',
    meaning: 'Another process on the node has the port.',
    advice:
      'No action needed if it happens once: Coxswain takes another port. Otherwise check what else runs on the node’s network.',
  },
  CollectiveTimeout: {
    blame: 'unknown',
    meaning:
      'A collective operation did not end in time: a rank hung, the network failed, or ranks called different operations.',
    advice: 'Compare the last operations of all ranks: the other ranks waited for the one that is behind.',
  },
  PeerLost: {
    blame: 'unknown',
    meaning: 'A connection to another rank was lost: that one failed before.',
    advice: 'Check the rank at the other end and its node.',
  },
  IllegalMemoryAccess: {
    blame: 'unknown',
    meaning: 'A kernel read or wrote where it may not: a bug of the program, or a faulty GPU.',
    advice:
      'Where it follows one node, drain that node; where it follows the program, run it with CUDA_LAUNCH_BLOCKING=1.',
  },
  CudaError: {
    blame: 'unknown',
    meaning: 'CUDA reported another error.',
    advice: 'Look at the kernel log of the node for an XID of that time.',
  },
  NcclMisused: {
    blame: 'program',
    meaning: 'NCCL was called with arguments that cannot work, for example with one GPU for two ranks.',
    advice: 'Check that each rank selects the GPU of its LOCAL_RANK.',
  },
  NcclError: {
    blame: 'unknown',
    meaning: 'NCCL reported another error.',
    advice: 'Run with NCCL_DEBUG=INFO, which names the call that failed.',
  },
  DeviceAssertion: {
    blame: 'program',
    meaning: 'An assertion in a kernel failed, mostly an index beyond a table.',
    advice: 'Hold token ids against the size of the vocabulary; run once with CUDA_LAUNCH_BLOCKING=1.',
  },
  Diverged: {
    blame: 'program',
    meaning: 'Loss or gradients became NaN or infinite, and the program ended for it.',
    advice:
      'Go on from an older checkpoint (spec.resumeFrom), with a lower learning rate or without the data of those steps.',
  },
  CheckpointMismatch: {
    blame: 'program',
    meaning: 'What was saved has other shapes or names than the model.',
    advice: 'Give the options that it was saved with, or begin another job.',
  },
  ImportFailed: {
    blame: 'program',
    meaning: 'A module or library is not in the image.',
    advice: 'Add it to the image, or name the image that has it.',
  },
  SyntaxFailed: {
    blame: 'program',
    meaning: 'The program cannot be read by its interpreter.',
    advice: 'Mend the file that is named.',
  },
  BadArguments: {
    blame: 'program',
    meaning: 'The program refuses its command line.',
    advice: 'Hold engine.args against the options of the program in that image.',
  },
  AssertionFailed: {
    blame: 'program',
    meaning: 'An assertion of the program failed.',
    advice: 'Read the assertion: it names what the program expected of options or data.',
  },
  FileMissing: {
    blame: 'program',
    meaning: 'A file does not exist where the program expects it.',
    advice: 'Look whether the claim is mounted there, and at the path in the arguments.',
  },
  PermissionDenied: {
    blame: 'program',
    meaning:
      'The user of the pod may not read or write a file, or the program writes to the data claim, which is read-only.',
    advice:
      'Give the files to the group of the pod, or write below the paths that it may write to: caches and indexes belong on scratch, not beside the data.',
  },
  AccessDenied: {
    blame: 'program',
    meaning: 'A service refused the program’s credentials.',
    advice: 'Give a valid token as a Secret (engine.secretEnv), and ask for access to the model where it is gated.',
  },
  PythonException: {
    blame: 'program',
    meaning: 'Python ended with an exception that has no class of its own.',
    advice: 'Read the traceback.',
  },
  StopAsked: {
    blame: 'program',
    meaning: 'The program exited with 93: a restart would fail the same way.',
    advice: 'Read its last lines.',
  },
  NothingTrained: {
    blame: 'program',
    meaning: 'Every rank exited with 0 without a step or a checkpoint.',
    advice:
      'Check that the program trains: its arguments, its data and its number of steps. A job that trains nothing sets spec.expects to Nothing.',
  },
  Segfault: {
    blame: 'unknown',
    meaning: 'The process read or wrote memory that it does not have (SIGSEGV).',
    advice:
      'Where it happens at the same place again, go back to the image before; where it follows a node, test its memory.',
  },
  BusError: {
    blame: 'unknown',
    meaning: 'Memory that was mapped could not be had (SIGBUS): mostly /dev/shm is full, or a file was cut.',
    advice: 'Look at how full /dev/shm is, and at the storage behind mapped files.',
  },
  IllegalInstruction: {
    blame: 'unknown',
    meaning: 'The process used an instruction that the CPU of its node does not have (SIGILL).',
    advice:
      'Check for which CPUs the image and its wheels are built (AVX-512, SVE), and compare the CPU of the node with nodes where it runs.',
  },
  ArithmeticFault: {
    blame: 'program',
    meaning: 'Compiled code divided an integer by zero, or its result has no number (SIGFPE).',
    advice: 'Check the sizes that the program computes from its options; a core dump or faulthandler shows the place.',
  },
  SystemCallDenied: {
    blame: 'environment',
    meaning: 'The process called the kernel in a way that the seccomp profile of its pod forbids (SIGSYS).',
    advice: 'Ask an administrator for the seccomp profile of the runtime; the audit log of the node names the call.',
  },
  Aborted: {
    blame: 'unknown',
    meaning: 'The process ended itself (SIGABRT or SIGTRAP) without saying why in its last lines.',
    advice: 'Read more of its log than the last lines.',
  },
  Killed: {
    blame: 'unknown',
    meaning: 'The process was killed (SIGKILL) by an unknown sender.',
    advice: 'Look at the kernel log of the node: the kernel kills so where memory runs out.',
  },
  Unknown: {
    blame: 'unknown',
    meaning: 'Nothing that is known shows in how it ended.',
    advice: 'Read its log.',
  },
} as const satisfies Record<string, { blame: CrashBlame; meaning: string; advice: string }>;
/** Name of a crash class. */
export type CrashClass = keyof typeof CRASH_CLASSES;
