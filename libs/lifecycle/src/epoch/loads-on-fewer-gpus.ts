/** Does the newest checkpoint of an elastic job load on the layouts that the job can shrink to? */
import {
  type ConvertedPlace,
  describeConversion,
  describeLoadRefusal,
  isUniversal,
  type KnownSave,
  neededConversion,
  recordedSave,
} from '@coxswain/checkpoint';
import { type Checkpoint, effectiveLayout, type ReasonOf } from '@coxswain/api-types';
import { formatLayout, type ParallelLayout, worldSize } from '@coxswain/layout';
import { newestUsable, restorableCheckpoints } from '../failure/resume-point.ts';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { copiesOfFewerGpus, type ElasticSpec, elasticSpec } from './elastic.ts';

interface LoadsDraft {
  readonly holds: boolean;
  readonly reason: ReasonOf<'LoadsOnFewerGpus'>;
  readonly message: string;
}

/** The condition; undefined: the job does not shrink, has saved nothing, or has ended. */
export function loadsOnFewerGpusDraft(record: JobRecord, facts: Facts): LoadsDraft | undefined {
  const spec = elasticSpec(facts);
  const layout = layoutAsStated(record, facts);
  const newest = newestUsable(record, facts);
  if (spec === undefined || layout === undefined || newest === undefined || record.terminal !== undefined)
    return undefined;
  const layouts = smallerLayouts(spec, layout);
  if (layouts.length === 0) return undefined;
  const refusalOf = refusalOfLayout(newest);
  const saved = recordedSave(newest);
  const loading = layouts.filter((one) => refusalOf(one) === undefined);
  const converted = layouts.filter((one) => !loading.includes(one) && neededConversion(saved, one, newest.spec));
  const [refused, ...others] = layouts.filter((one) => !loading.includes(one) && !converted.includes(one));
  const subject = `Checkpoint ${newest.metadata.name} (step ${newest.spec.step})`;
  const conversion = describeConversions(saved, converted, newest.spec);
  if (refused === undefined) {
    const asIs =
      loading.length === 0
        ? ''
        : ` loads on the layouts that the job can shrink to: ${namesOf(loading)}.${conversion && ' It'}`;
    return { holds: true, reason: 'CheckpointLoads', message: `${subject}${asIs}${conversion}` };
  }
  const some = `${loading.length === 0 ? '' : `loads as ${namesOf(loading)}, and `}${conversion && `${conversion.trim()} It `}`;
  const message =
    `${subject} ${some}does not load as ${namesOf([refused, ...others])}: it ${refusalOf(refused) ?? ''}. ` +
    `${loading.length + converted.length === 0 ? 'If' : 'If the planner chooses such a layout after'} GPUs are lost, the job waits until they are back.${older(newest, [refused, ...others], record, facts)}`;
  return {
    holds: false,
    reason: loading.length + converted.length === 0 ? 'CheckpointDoesNotLoad' : 'SomeLayoutsDoNotLoad',
    message,
  };
}

/**
 * Layouts with fewer GPUs: fewer copies of the model at the same division, and the nearest other divisions, which the planner may choose.
 * Most copies first. The job can shrink to more layouts; these show whether degrees of data, tensor and pipeline parallelism may change.
 */
export function smallerLayouts(spec: ElasticSpec, layout: ParallelLayout): readonly ParallelLayout[] {
  const { tensorParallelDegree: tensor, pipelineParallelDegree: pipeline } = layout;
  const fewerCopies = copiesOfFewerGpus(spec, { layout, gpus: worldSize(layout) })
    .toSorted((one, other) => other - one)
    .map((copies) => ({ ...layout, dataParallelDegree: copies }));
  const divided = [
    ...(tensor % 2 === 0 ? [{ ...layout, tensorParallelDegree: tensor / 2 }] : []),
    ...(pipeline % 2 === 0 ? [{ ...layout, pipelineParallelDegree: pipeline / 2 }] : []),
  ].filter((one) => worldSize(one) >= spec.minGpus);
  return [...fewerCopies, ...divided];
}

/** The layout of the newest attempt, with the format that the job states: the attempt may have begun from a converted save. */
function layoutAsStated({ attempts, plan }: JobRecord, { spec }: Facts): ParallelLayout | undefined {
  const stated = (spec && effectiveLayout(spec, plan)) ?? plan?.layout;
  const { layout } = attempts.at(-1) ?? {};
  if (layout === undefined || !isUniversal(layout)) return layout ?? stated;
  if (stated !== undefined && isUniversal(stated)) return layout;
  const { checkpointPolicy: { format: _, ...policy } = {}, ...rest } = layout;
  return { ...rest, checkpointPolicy: { ...policy, ...stated?.checkpointPolicy } };
}

/** ` needs conversion: 3.3 GiB, about 10.0 s, before it loads as dp2 on 2 GPUs. A pod converts it before GPUs are held.` */
function describeConversions(saved: KnownSave, layouts: readonly ParallelLayout[], place: ConvertedPlace): string {
  const [first] = layouts;
  const needed = first && neededConversion(saved, first, place);
  if (needed === undefined) return '';
  return ` ${describeConversion(needed)}, before it loads as ${namesOf(layouts)}. A pod converts it before GPUs are held.`;
}

function refusalOfLayout(checkpoint: Checkpoint): (layout: ParallelLayout) => string | undefined {
  const saved = recordedSave(checkpoint);
  return (layout) => describeLoadRefusal(saved, layout);
}

/** An older checkpoint that loads where the newest does not; a user can choose it. */
function older(newest: Checkpoint, layouts: readonly ParallelLayout[], record: JobRecord, facts: Facts): string {
  const found = restorableCheckpoints(record, facts).find((one) => {
    if (one.spec.step >= newest.spec.step) return false;
    const refusalOf = refusalOfLayout(one);
    return layouts.every((layout) => refusalOf(layout) === undefined);
  });
  return found === undefined
    ? ''
    : ` Checkpoint ${found.metadata.name} (step ${found.spec.step}) loads there: spec.resumeFrom can name it.`;
}

const MOST_NAMED = 6;

/** `2 GPUs (tp2 x dp1), 1 GPU (dp1)` */
function namesOf(layouts: readonly ParallelLayout[]): string {
  const named = layouts.slice(0, MOST_NAMED).map((layout) => {
    const gpus = worldSize(layout);
    return `${formatLayout(layout)} on ${gpus} GPU${gpus === 1 ? '' : 's'}`;
  });
  const more = layouts.length - named.length;
  return more === 0 ? named.join(', ') : `${named.join(', ')} and ${more} more`;
}
