/** The ranks of a job in words. */
import { namedSwitch, ownNameOf } from '@coxswain/fabric';
import { formatCount } from '@coxswain/units';
import { slowness, type Pace, type SeenRank } from './rank-geometry.ts';

/** A rank that takes a fifth longer than the median is worth a word. */
const NOTABLY_SLOW = 0.2;

/** How many ranks there are, and which is the slowest. */
export function formatGang(ranks: number, epoch: number, pace: Pace): string {
  const begin = `Attempt ${epoch}, ${formatCount(ranks, 'rank')}.`;
  const { slowest, medianStepTimeMs } = pace;
  if (slowest === undefined || medianStepTimeMs === null) return `${begin} Point at a rank to see its place.`;
  const end =
    (slowness(slowest, pace) ?? 0) < NOTABLY_SLOW
      ? 'All ranks have about the same step time.'
      : `The slowest is rank ${slowest.rank} on ${slowest.node}: ${times(slowest, medianStepTimeMs)} the median.`;
  return `${begin} Median step time ${medianStepTimeMs.toFixed(1)} ms. ${end}`;
}

/** Where a rank is, and how far. */
export function formatRank(place: SeenRank, { medianStepTimeMs, furthestStep }: Pace): string {
  const { rank, node, pod, switches, tensorIndex, dataIndex, pipelineIndex, stepTimeMs, lastStep } = place;
  const above = [0, 1]
    .flatMap((tier) => namedSwitch(switches, tier) ?? [])
    .map((name) => `, below ${ownNameOf(name)}`)
    .join('');
  const where = `Rank ${rank} on node ${node}, pod ${pod}${above}; tensor ${tensorIndex}, data ${dataIndex}, pipeline ${pipelineIndex}.`;
  if (stepTimeMs === null || lastStep === null) return `${where} Not measured yet.`;
  const behind = furthestStep === null || lastStep >= furthestStep ? '' : `, ${furthestStep - lastStep} behind`;
  const compared = medianStepTimeMs === null ? '' : ` (${times(place, medianStepTimeMs)} the median)`;
  return `${where} Step ${lastStep}${behind}, took ${stepTimeMs.toFixed(1)} ms${compared}.`;
}

function times({ stepTimeMs }: SeenRank, medianStepTimeMs: number): string {
  return `${((stepTimeMs ?? 0) / medianStepTimeMs).toFixed(2)} ×`;
}
