/** Which gangs make room for a job that waits, at what price? Pure: it records nothing and stops no gang. */
import { findNodes } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { NodeQuestion } from '../gang-request.ts';
import { candidatesOf, type Candidates, describeOthers } from './candidates.ts';
import type { ClaimChoice, ClaimQuestion, ChosenVictim, FoundNodes, RunningGang } from './claim.ts';
import { deadlineSeconds, gpusOfGang, withNextSave } from './price.ts';
import { type FoundVictims, searchVictims } from './victim-search.ts';
import { waysOut } from './ways-out.ts';

/** Yields the searches of nodes and continues with what they find. */
export type ChoosingVictims = Generator<NodeQuestion, ClaimChoice, FoundNodes | undefined>;

/** The same, with every search at once. */
export function chooseVictims(question: ClaimQuestion): ClaimChoice {
  const choosing = choosingVictims(question);
  let step = choosing.next();
  while (step.done !== true) step = choosing.next(findNodes(step.value.request, step.value.capacity));
  return step.value;
}

/** The gangs with the least price that leave room for the claimant; none if they lose more GPU time than the claimant gains. */
export function* choosingVictims(question: ClaimQuestion): ChoosingVictims {
  const { claimant, gangs: running, standing } = question;
  const { startWithout } = claimant;
  if (standing.some(({ job }) => job.uid === claimant.job.uid)) return none('other jobs make room for it already.');
  if (startWithout === undefined)
    return none('nodes are held for another job of its priority first, and only for the first in line jobs make room.');
  const candidates = candidatesOf(question);
  if (candidates.gangs.length === 0) return none(whyNoCandidate(running.length, candidates));
  const mostGpus = mostGpusOf(question);
  const gangs = candidates.gangs.map((gang) => withNextSave(gang, question));
  const { best, couldFit } = yield* searchVictims(question, gangs, mostGpus);
  if (best === undefined) return none(couldFit ? overLimit(question) : notEnough(candidates));
  const gain = worldSize(claimant.request.layout) * secondsGained(startWithout, best, question);
  const price = best.price;
  if (price >= gain) return none(tooDear({ best, gain, price }));
  const victims = yield* waysOut(question, best);
  return {
    kind: 'claim',
    placement: { nodes: best.found.nodes, ranksPerPod: best.found.ranksPerPod },
    victims,
    gainGpuSeconds: Math.round(gain),
    expiresAfterSeconds: expiresAfter(victims, question),
  };
}

/** GPUs that the victims may give up. A claim beside others takes what they leave of the share. */
function mostGpusOf({ standing, gangs, fabric, rules }: ClaimQuestion): number {
  if (standing.length === 0) return Infinity;
  const total = fabric.fabric.nodes.reduce((sum, { gpus }) => sum + gpus, 0);
  const named = new Set(standing.flatMap(({ victims }) => victims.map(({ uid }) => uid)));
  const given = gangs.filter(({ job }) => named.has(job.uid)).reduce((sum, gang) => sum + gpusOfGang(gang), 0);
  return rules.mostShare * total - given;
}

/** By how much earlier it starts. The last gang may take its whole deadline. */
function secondsGained(startWithout: Date, { gangs }: FoundVictims, { now, rules }: ClaimQuestion): number {
  const leaveSeconds = Math.max(...gangs.map((gang) => stallOf(gang) + deadlineSeconds(gang, rules)));
  return Math.max(0, (startWithout.getTime() - now.getTime()) / 1_000 - leaveSeconds);
}

function stallOf({ savesWhenAsked, stallSeconds, waitsForSave }: RunningGang): number {
  return savesWhenAsked ? stallSeconds : (waitsForSave?.seconds ?? 0);
}

function expiresAfter(victims: readonly ChosenVictim[], { rules }: ClaimQuestion): number {
  const asksForSave = victims.some(({ savesWhenAsked, waitsForSave }) => savesWhenAsked || waitsForSave !== undefined);
  const save = asksForSave ? rules.saveSeconds : 0;
  return save + Math.max(...victims.map((victim) => victim.deadlineSeconds)) + rules.slackSeconds;
}

function none(why: string): ClaimChoice {
  return { kind: 'none', reason: `No job makes room: ${why}` };
}

function whyNoCandidate(count: number, candidates: Candidates): string {
  if (count === 0) return 'no other job runs.';
  return `of ${count} running ${count === 1 ? 'job' : 'jobs'} ${describeOthers(candidates)}.`;
}

function notEnough(candidates: Candidates): string {
  const { length } = candidates.gangs;
  const others = describeOthers(candidates);
  const jobs = length === 1 ? 'the only job that could stop' : `all ${length} jobs that could stop`;
  return `even without ${jobs}, no nodes would be free for it${others === '' ? '' : ` (of the others ${others})`}.`;
}

function overLimit({ standing, rules }: ClaimQuestion): string {
  return standing.length === 0
    ? `more than ${rules.mostVictims} jobs would have to stop.`
    : `other jobs make room already, and together they may give up at most ${rules.mostShare * 100} % of the GPUs.`;
}

function tooDear({ best, gain, price }: { best: FoundVictims; gain: number; price: number }): string {
  const { length } = best.gangs;
  const stopping = `stopping ${length} ${length === 1 ? 'job' : 'jobs'} of lower priority`;
  return `${stopping} would cost ${inGpuHours(price)} GPU hours, and its earlier start would gain ${inGpuHours(gain)}.`;
}

function inGpuHours(gpuSeconds: number): string {
  const hours = gpuSeconds / 3_600;
  return hours >= 100 ? hours.toFixed(0) : hours.toFixed(1);
}
