/** Can training go on from a checkpoint that a user chooses, and how? */
import {
  FINAL_JOB_STATES,
  findCondition,
  type CheckpointDetail,
  type CheckpointRecord,
  type Job,
  type WhoAmI,
} from '@coxswain/api-types';

/** `canAct`: the API takes the request now. Otherwise `why` says what has to happen before; without commands there is no way. */
export interface GoOn {
  readonly canAct: boolean;
  readonly why: string;
  readonly commands: readonly string[];
}

/** A checkpoint as far as this asks. `loads`: at the layout that the job has. */
export type Resumable = CheckpointRecord & Pick<CheckpointDetail, 'loads'>;

/** Whether the job resumes from that checkpoint of its own, for whom, and with which commands. */
export function goOnFrom(checkpoint: Resumable, job: Job, role: WhoAmI['role']): GoOn {
  const refuse = (why: string): GoOn => ({ canAct: false, why, commands: [] });
  if (FINAL_JOB_STATES.has(job.state) || job.state === 'Deleting') {
    return refuse(
      `Job ${job.name} is ${job.state} and does not continue. Another job can resume from the directory of this checkpoint once you adopt it.`,
    );
  }
  if (job.spec.cancel) return refuse(`Job ${job.name} is being cancelled and does not continue.`);
  if (checkpoint.deletedAt !== null) return refuse('The Checkpoint object was deleted, so no job can resume from it.');
  if (checkpoint.isBeingDeleted) return refuse('The checkpoint is being deleted, so no job can resume from it.');
  if (checkpoint.loads?.isRefused === true) {
    return refuse(`The layout that job ${job.name} has does not load it. ${checkpoint.loads.message}`);
  }
  const resume = `coxswain resume ${job.name} --from ${checkpoint.name}`;
  const isStopped = job.spec.suspend || waitsForChoice(job);
  const commands = isStopped ? [resume] : [`coxswain suspend ${job.name} --wait`, resume];
  if (role === 'viewer') return { canAct: false, why: 'Your role is viewer, which may not resume jobs.', commands };
  if (isStopped) return { canAct: true, why: '', commands };
  return {
    canAct: false,
    why: `Job ${job.name} is not suspended. Suspend it first: its ranks save and stop.`,
    commands,
  };
}

/** Whether it loads at the layout that its job has; undefined: not known, or a refusal says it. */
export function describeLoads({ loads }: Resumable): string | undefined {
  if (loads === null || loads.isRefused) return undefined;
  return [`${LOADS[loads.verdict] ?? loads.verdict}: ${loads.message}`, ...loads.warnings].join(' ');
}

const LOADS: Readonly<Record<string, string>> = {
  'loads as is': 'It loads as it is',
  'engine reshards': 'The engine divides its state anew while it loads',
  'needs conversion': 'It loads after its conversion',
};

/** The change of the TrainingJob that asks for the same, for users of kubectl. Another `request` asks again for a checkpoint that was asked for before. */
export function resumeFromYaml(
  { name }: Pick<CheckpointRecord, 'name'>,
  { specVersion }: Pick<Job, 'specVersion'>,
): string {
  return `spec:\n  suspend: false\n  resumeFrom:\n    from: ${name}\n    request: "${specVersion + 1}"\n`;
}

/** Whether no checkpoint can be used, and a user has to choose. */
function waitsForChoice({ conditions }: Job): boolean {
  return findCondition(conditions, 'Placed')?.reason === 'CheckpointsUnusable';
}
