/** What the form of a resume asks the API for. */
import { type CheckpointRecord, type Job, type JobResume, SCRATCH } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import { formatCount } from '@coxswain/units';

/** On which layout a job continues. */
export type ResumeDivision = 'same' | 'gpus' | 'degrees';

/** Degrees that the form edits; all others stay. */
export const DEGREES = [
  ['tensorParallelDegree', 'Tensor parallel'],
  ['pipelineParallelDegree', 'Pipeline parallel'],
  ['contextParallelDegree', 'Context parallel'],
  ['dataParallelDegree', 'Data parallel'],
] as const;
export type Degree = (typeof DEGREES)[number][0];

export interface ResumeForm {
  readonly division: ResumeDivision;
  readonly gpus: number;
  readonly degrees: Readonly<Record<Degree, number>>;
  /** Empty: the newest checkpoint. */
  readonly from: string;
}

/** With what the form begins: the job as it is. */
export function resumeFormOf({ layout, gpus }: Pick<Job, 'layout' | 'gpus'>): ResumeForm {
  const known = layout ?? ParallelLayout.parse({ dataParallelDegree: Math.max(1, gpus) });
  return {
    division: 'same',
    gpus,
    degrees: {
      tensorParallelDegree: known.tensorParallelDegree,
      pipelineParallelDegree: known.pipelineParallelDegree,
      contextParallelDegree: known.contextParallelDegree ?? 1,
      dataParallelDegree: known.dataParallelDegree,
    },
    from: '',
  };
}

export function resumeRequestOf({ division, gpus, degrees, from }: ResumeForm, job: Pick<Job, 'layout'>): JobResume {
  const begin = from === '' ? {} : { from };
  if (division === 'same') return begin;
  if (division === 'gpus') return { gpus, ...begin };
  const { contextParallelDegree, ...others } = degrees;
  // A degree of 1 that the layout does not state is left out, as it was.
  const isContextStated = contextParallelDegree !== 1 || job.layout?.contextParallelDegree !== undefined;
  const context = isContextStated ? { contextParallelDegree } : {};
  return { layout: { ...(job.layout ?? ParallelLayout.parse({})), ...others, ...context }, ...begin };
}

/** What is lost if the job begins from there; undefined: nothing. */
export function resumeLoss(
  from: string,
  saves: readonly Pick<CheckpointRecord, 'name' | 'step'>[],
  { progress, checkpoint }: Pick<Job, 'progress' | 'checkpoint'>,
): string | undefined {
  if (from === '') return undefined;
  const begin = from === SCRATCH ? 0 : saves.find(({ name }) => name === from)?.step;
  const reached = Math.max(progress?.step ?? 0, checkpoint?.step ?? 0);
  if (begin === undefined || reached <= begin) return undefined;
  return `${formatCount(reached - begin, 'step')} after step ${begin.toLocaleString('en')} ${reached - begin === 1 ? 'is' : 'are'} trained again, and later checkpoints are no longer used.`;
}
