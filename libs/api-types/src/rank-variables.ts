import { RANK_ENV } from './names.ts';

/** What the launcher sets for each rank, under the names that torchrun gave them; an engine that runs under torchrun finds them here. */
export const TORCH_RANK_ENV = {
  RANK: 'Global rank, from 0.',
  WORLD_SIZE: 'Ranks of the whole gang.',
  LOCAL_RANK: 'Rank within its pod, from 0: the index of its GPU.',
  LOCAL_WORLD_SIZE: 'Ranks of this pod.',
  GROUP_RANK: 'Index of the pod, from 0. NVIDIA’s resiliency extension reads it too.',
  GROUP_WORLD_SIZE: 'Pods of the gang.',
  MASTER_ADDR: 'Where rank 0 listens. Another one with each incarnation.',
  MASTER_PORT: 'Its port, free a moment ago. Another one with each incarnation.',
  TORCHELASTIC_RESTART_COUNT: 'How often ranks were started before in these pods: the incarnation less one.',
} as const satisfies Record<string, string>;

/** The launcher's own, likewise. */
export const LAUNCHER_RANK_ENV = {
  [RANK_ENV.incarnation]: 'Which run of the ranks in these pods, from 1.',
  [RANK_ENV.saveDirectory]: 'Directory that belongs to this incarnation alone. Absent: the job keeps no checkpoints.',
  [RANK_ENV.resumeFrom]: 'Directory of the checkpoint to begin from. Absent: from scratch.',
  [RANK_ENV.resumeManifestSha256]: 'SHA-256 of its manifest.',
  [RANK_ENV.resumeRoot]: 'Directory above the checkpoint to begin from.',
  [RANK_ENV.resumeStep]: 'Step of the checkpoint to begin from.',
  [RANK_ENV.memoryDirectory]:
    'Directory in the memory of the pod. A rank saves `rank-RANK/INCARNATION-STEP` there, renamed to that name when it is complete. Absent: the job keeps no saves in memory.',
  [RANK_ENV.memorySaveEverySteps]: 'Steps between two saves in memory. Absent: none.',
  [RANK_ENV.memorySaveBytes]: 'Most bytes of one save in memory. Absent: none.',
  [RANK_ENV.memoryResume]: '`INCARNATION-STEP` of the save in memory to begin from. Absent: the checkpoint.',
  [RANK_ENV.engineFiles]:
    'Directory of the files that were rendered for the engine, last on PYTHONPATH. Absent: there are none.',
  COXSWAIN_REPORT_SOCKET: 'Unix socket that takes facts, as JSON lines.',
  COXSWAIN_BOOT_ID: 'Identifies this start of the launcher. Clients of the report socket must send it.',
} as const satisfies Record<string, string>;
