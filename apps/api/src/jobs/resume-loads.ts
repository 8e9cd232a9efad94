/** Does the layout of a resume load the checkpoint that training goes on from? */
import {
  type Checkpoint,
  type CheckpointContents,
  type CheckpointLoads,
  isAdopted,
  type JobResume,
  SCRATCH,
} from '@coxswain/api-types';
import {
  type ConvertedPlace,
  describeConversion,
  describeLoadRefusal,
  isFoundBroken,
  judgeLoad,
  type KnownSave,
  neededConversion,
  recordedSave,
} from '@coxswain/checkpoint';
import { DomainError } from '@coxswain/domain-error';
import type { ParallelLayout } from '@coxswain/layout';

/** A checkpoint of the job, as the row store knows it. */
export interface KnownCheckpoint {
  readonly name: string;
  readonly step: number;
  readonly state: NonNullable<Checkpoint['status']>['state'];
  readonly message: string | null;
  /** Absent: nothing is judged. */
  readonly spec?: ConvertedPlace &
    Pick<Checkpoint['spec'], 'format' | 'layout' | 'bytes'> &
    Partial<Pick<Checkpoint['spec'], 'claimName'>>;
  readonly contents?: CheckpointContents | null;
  readonly verification?: NonNullable<Checkpoint['status']>['verification'] | null;
}

/**
 * INVALID_REQUEST if the checkpoint that `from` names, or else the newest one, does not load at the layout. The operator would refuse it too,
 * but only after the job was resumed. `layout`: absent if the planner chooses it. `known`: newest first.
 */
export function requireLoads(
  { from }: Pick<JobResume, 'from'>,
  layout: ParallelLayout | undefined,
  known: readonly KnownCheckpoint[],
): void {
  if (layout === undefined || from === SCRATCH) return;
  const loaded = known.find((one) => (from === undefined ? isGood(one) && !isOfNoJob(one) : one.name === from));
  const refusal = loaded === undefined ? undefined : refusalOf(loaded, layout);
  if (loaded === undefined || refusal === undefined) return;
  const loading = known.filter((one) => isGood(one) && refusalOf(one, layout) === undefined).slice(0, MOST_NAMED);
  const names = loading.map(({ name, step }) => `${name} (step ${step})`).join(', ');
  const instead = names === '' ? '' : `; these load at the layout, give one as "from": ${names}`;
  const detail = `checkpoint ${loaded.name} (step ${loaded.step}) ${refusal}${instead}`;
  const field = from === undefined ? 'layout' : 'from';
  throw new DomainError('INVALID_REQUEST', `${field}: ${detail}`, [{ pointer: `/${field}`, detail }]);
}

const MOST_NAMED = 5;

/** An adopted one is used where it is named, and not as the newest. */
function isOfNoJob({ spec }: KnownCheckpoint): boolean {
  return spec !== undefined && isAdopted({ spec });
}

function isGood({ state, verification }: KnownCheckpoint): boolean {
  return state === 'Complete' && !isFoundBroken({ status: { state, ...(verification ? { verification } : {}) } });
}

/** A save that the operator converts before GPUs are held is not refused. */
function refusalOf({ spec, contents }: KnownCheckpoint, layout: ParallelLayout): string | undefined {
  if (spec === undefined) return undefined;
  const saved = savedOf({ spec, contents });
  return neededConversion(saved, layout, spec) === undefined ? describeLoadRefusal(saved, layout) : undefined;
}

/** Whether a layout loads a checkpoint, in the words of the refusal that a resume would get. */
export function judgeLoads(recorded: RecordedSave, layout: ParallelLayout): CheckpointLoads {
  const saved = savedOf(recorded);
  const { verdict, because, warnings, notes, conversion } = judgeLoad(saved, { layout });
  const stated = conversion?.isStated === true ? ' The layout states that the conversion has run.' : '';
  const needed = neededConversion(saved, layout, recorded.spec);
  const isRefused = needed === undefined && describeLoadRefusal(saved, layout) !== undefined;
  const converted =
    needed === undefined ? '' : ` It ${describeConversion(needed)}. A pod converts it before GPUs are held.`;
  return { verdict, message: `It ${because}.${stated}${converted}`, warnings: [...warnings, ...notes], isRefused };
}

interface RecordedSave {
  readonly spec: NonNullable<KnownCheckpoint['spec']>;
  readonly contents?: CheckpointContents | null | undefined;
}

function savedOf({ spec, contents }: RecordedSave): KnownSave {
  return recordedSave({ spec, status: { state: 'Complete', ...(contents ? { contents } : {}) } });
}
