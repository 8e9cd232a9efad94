/** Variables that other launchers set for a program, and what a rank of Coxswain reads instead. */
import type { ReportLine } from './import-report.ts';

const NONE = undefined;
/** By name: the variable of a rank, or a sentence. */
const REPLACEMENTS: Readonly<Record<string, string | undefined>> = {
  PET_NODE_RANK: 'GROUP_RANK',
  PET_NNODES: 'GROUP_WORLD_SIZE',
  PET_NPROC_PER_NODE: 'LOCAL_WORLD_SIZE',
  PET_MASTER_ADDR: 'MASTER_ADDR',
  PET_MASTER_PORT: 'MASTER_PORT',
  PET_RDZV_ENDPOINT: 'MASTER_ADDR and MASTER_PORT',
  PET_MAX_RESTARTS: NONE,
  SLURM_PROCID: 'RANK',
  SLURM_NTASKS: 'WORLD_SIZE',
  SLURM_NPROCS: 'WORLD_SIZE',
  SLURM_LOCALID: 'LOCAL_RANK',
  SLURM_NODEID: 'GROUP_RANK',
  SLURM_NNODES: 'GROUP_WORLD_SIZE',
  SLURM_JOB_NUM_NODES: 'GROUP_WORLD_SIZE',
  SLURM_NTASKS_PER_NODE: 'LOCAL_WORLD_SIZE',
  SLURM_TASKS_PER_NODE: 'LOCAL_WORLD_SIZE',
  SLURM_GPUS_ON_NODE: 'LOCAL_WORLD_SIZE',
  SLURM_GPUS_PER_NODE: 'LOCAL_WORLD_SIZE',
  SLURM_NODELIST: 'MASTER_ADDR',
  SLURM_JOB_NODELIST: 'MASTER_ADDR',
  SLURM_LAUNCH_NODE_IPADDR: 'MASTER_ADDR',
  SLURM_JOB_ID: 'COXSWAIN_JOB_UID',
  SLURM_JOBID: 'COXSWAIN_JOB_UID',
  SLURM_JOB_NAME: 'COXSWAIN_JOB_NAME',
  SLURM_RESTART_COUNT: 'TORCHELASTIC_RESTART_COUNT',
  SLURM_TMPDIR: 'the directory /coxswain/scratch (spec.scratch)',
  SLURMD_NODENAME: 'COXSWAIN_NODE_NAME',
  OMPI_COMM_WORLD_RANK: 'RANK',
  OMPI_COMM_WORLD_SIZE: 'WORLD_SIZE',
  OMPI_UNIVERSE_SIZE: 'WORLD_SIZE',
  OMPI_COMM_WORLD_LOCAL_RANK: 'LOCAL_RANK',
  OMPI_COMM_WORLD_NODE_RANK: 'LOCAL_RANK',
  OMPI_COMM_WORLD_LOCAL_SIZE: 'LOCAL_WORLD_SIZE',
  PMI_RANK: 'RANK',
  PMIX_RANK: 'RANK',
  PMI_SIZE: 'WORLD_SIZE',
  PMI_LOCAL_RANK: 'LOCAL_RANK',
  PMI_LOCAL_SIZE: 'LOCAL_WORLD_SIZE',
  MPI_LOCALRANKID: 'LOCAL_RANK',
  MPI_LOCALNRANKS: 'LOCAL_WORLD_SIZE',
  MV2_COMM_WORLD_RANK: 'RANK',
  MV2_COMM_WORLD_SIZE: 'WORLD_SIZE',
  MV2_COMM_WORLD_LOCAL_RANK: 'LOCAL_RANK',
  MV2_COMM_WORLD_LOCAL_SIZE: 'LOCAL_WORLD_SIZE',
  JOB_COMPLETION_INDEX: 'GROUP_RANK',
  JOB_GLOBAL_INDEX: 'GROUP_RANK',
  JOBSET_RESTART_ATTEMPT: 'TORCHELASTIC_RESTART_COUNT',
  JOBSET_NAME: 'COXSWAIN_JOB_NAME',
  VC_TASK_INDEX: 'GROUP_RANK',
  VK_TASK_INDEX: 'GROUP_RANK',
  VC_WORKER_NUM: 'GROUP_WORLD_SIZE',
  VC_WORKER_HOSTS: 'MASTER_ADDR',
  VC_MASTER_NUM: NONE,
  VC_MASTER_HOSTS: 'MASTER_ADDR',
  LWS_LEADER_ADDRESS: 'MASTER_ADDR',
  LWS_WORKER_INDEX: 'GROUP_RANK',
  LWS_GROUP_SIZE: 'GROUP_WORLD_SIZE',
  NODE_RANK: 'GROUP_RANK',
  MACHINE_RANK: 'GROUP_RANK',
  NNODES: 'GROUP_WORLD_SIZE',
  NUM_NODES: 'GROUP_WORLD_SIZE',
  NPROC_PER_NODE: 'LOCAL_WORLD_SIZE',
  GPUS_PER_NODE: 'LOCAL_WORLD_SIZE',
};
/** Prefixes that belong to one launcher, whatever stands behind them. */
const OLD =
  /\b(?:(?:PET|SLURM|SLURMD|OMPI|PMIX?|MV2|VC|VK|JOBSET|LWS|BATCH|PADDLE|VCJOB)_[A-Z][A-Z0-9_]*|JOB_(?:COMPLETION|GLOBAL)_INDEX|MPI_LOCAL(?:RANKID|NRANKS))\b/g;
/** Names that any program may use for something of its own: they count only if a shell or the environment reads them. */
const READ_BY_SHELL =
  /\$\{?(NODE_RANK|MACHINE_RANK|NNODES|NUM_NODES|NPROC_PER_NODE|GPUS_PER_NODE)\b|(?:environ(?:\.get\(|\[)|getenv\()\s*["'](NODE_RANK|MACHINE_RANK|NNODES|NUM_NODES|NPROC_PER_NODE|GPUS_PER_NODE)\b/g;

/** What a rank reads in place of a variable of another launcher; undefined if it has no counterpart. */
export function replacementOf(name: string): string | undefined {
  return Object.hasOwn(REPLACEMENTS, name) ? REPLACEMENTS[name] : undefined;
}

/** Names of variables of other launchers that the text reads, each once. `given` are set by the job itself. */
export function oldVariablesIn(text: string, given: ReadonlySet<string>): readonly string[] {
  const ofShell = [...text.matchAll(READ_BY_SHELL)].map(([, shell, program]) => shell ?? program ?? '');
  return [...new Set([...(text.match(OLD) ?? []), ...ofShell])].filter((name) => !given.has(name));
}

/** A line for each variable of another launcher that the program, its arguments or its environment name. */
export function oldVariableLines(
  from: string,
  texts: readonly string[],
  given: readonly { readonly name: string }[],
): readonly ReportLine[] {
  const names = oldVariablesIn(texts.join('\n'), new Set(given.map(({ name }) => name)));
  return names.map((name) => {
    const instead = replacementOf(name);
    return {
      outcome: 'changed',
      from: `${from} ($${name})`,
      to: 'engine.command',
      why: `another launcher set ${name}; Coxswain does not set it, so the program would read its default or nothing`,
      todo:
        instead === undefined
          ? `remove ${name} from the program, or set it in engine.env; no variable of Coxswain has this value`
          : `let the program read ${instead} instead of ${name}`,
    };
  });
}
