/** Which verdicts of detectors still hold, and which are held back? */
import { type Attempt, hasRanks, type Incident, ranksOfPod } from '@coxswain/api-types';
import { STEPS_OF_RECOVERY } from '@coxswain/health';
import { doesAnswer, type Facts, nodeStateOf, placementOf, podCount } from '../observation/facts.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { runOf } from '../arbiter/recorded-ends.ts';
import { recordOf } from '../record/job-record.ts';
import { STANDS_STILL } from '../record/incident-kinds.ts';
import { claimsOf, roomElsewhere, switchesAbove } from '../observation/room.ts';
import { hearsFew } from '../observation/hearing.ts';
import type { Verdict } from '../observation/observed.ts';

/** A verdict on which nothing is done now. */
export interface HeldVerdict {
  readonly verdict: Verdict;
  /** A sentence without its full stop. */
  readonly why: string;
}

/** A verdict that may end the run. `blamesNobody` also where it has a common cause with others. */
export type ValidVerdict = Verdict;

/** Verdicts about the current run. Those that newer progress refutes are in neither list. */
export interface JudgedVerdicts {
  readonly valid: readonly ValidVerdict[];
  readonly held: readonly HeldVerdict[];
}

const HEARS_FEW =
  'the operator hears few of all launchers at the moment, so its own view is in doubt: check the network between nodes and the operator';

/** Verdicts of detectors about the current run that may end it. */
export function verdictsOn(facts: Facts, attempt: Attempt): readonly ValidVerdict[] {
  return judgeVerdicts(facts, attempt).valid;
}

/** Results per observation: a dozen rules ask. */
const judgedRuns = new WeakMap<Facts, Map<string, JudgedVerdicts>>();

/** Sorts the verdicts about the current run, and asks the arbiter about those that still hold. */
export function judgeVerdicts(facts: Facts, attempt: Attempt): JudgedVerdicts {
  const runs = judgedRuns.get(facts) ?? new Map<string, JudgedVerdicts>();
  judgedRuns.set(facts, runs);
  const known = runs.get(runOf(attempt));
  const judged = known ?? judgeEach(facts, attempt);
  runs.set(runOf(attempt), judged);
  return judged;
}

function judgeEach(facts: Facts, attempt: Attempt): JudgedVerdicts {
  const { epoch, incarnation = 1 } = attempt;
  const current = (facts.observed.verdicts ?? []).filter(
    (verdict) =>
      verdict.epoch === epoch &&
      (verdict.incarnation ?? incarnation) === incarnation &&
      !isOutdated(verdict, facts, attempt),
  );
  // Every reconciliation asks, and almost every gang trains.
  if (current.length === 0 && !hasIncidents(facts)) return NOTHING;
  const judged = current.map((verdict) => ({ verdict, why: verdict.held ?? doubtOf(verdict, facts, attempt) }));
  const doubted = judged.flatMap(({ verdict, why }) => (why === undefined ? [] : { verdict, why }));
  const credible = judged.flatMap(({ verdict, why }) => (why === undefined ? verdict : []));
  const byCause = CAUSES.map((cause) => {
    const due = credible.filter((verdict) => causeOf(verdict) === cause);
    return rule(facts, attempt, { cause, due, doubted: doubted.filter(({ verdict }) => causeOf(verdict) === cause) });
  });
  return {
    valid: byCause.flatMap(({ valid }) => valid),
    held: [...byCause.flatMap(({ held }) => held), ...doubted],
  };
}

function hasIncidents({ job }: Facts): boolean {
  const incidents: unknown = job.status?.incidents;
  return Array.isArray(incidents) && incidents.length > 0;
}

const CAUSES = ['hang', 'slow'] as const;
type VerdictCause = (typeof CAUSES)[number];

function causeOf({ cause }: Verdict): VerdictCause {
  return cause ?? 'hang';
}

/** Asks the arbiter about all verdicts of one cause. What was only noticed is proposed too, because it counts for others. */
function rule(
  facts: Facts,
  attempt: Attempt,
  about: {
    readonly cause: VerdictCause;
    readonly due: readonly Verdict[];
    readonly doubted: readonly HeldVerdict[];
  },
): JudgedVerdicts {
  const { cause, due } = about;
  const { ruleOnEnd } = facts.observed;
  const noticed = noticedOf(facts, attempt, cause);
  if (ruleOnEnd === undefined) return { valid: due, held: [] };
  if (due.length === 0 && about.doubted.length === 0 && noticed === undefined) return NOTHING;
  const named = [...due, ...about.doubted.map(({ verdict }) => verdict)];
  const blamed = [...new Set(named.flatMap((verdict) => nodeOfVerdict(facts, attempt, verdict) ?? []))];
  const nodes = named.length === 0 ? [noticed?.node ?? []].flat() : blamed;
  const beganAtMs = Math.min(...[...named.map(({ beganAt }) => beganAt), noticed?.beganAt].map(parseTime));
  const room = cause === 'slow' && due.length > 0 ? roomElsewhere(facts, attempt, nodes) : undefined;
  const ruling = ruleOnEnd({
    cause,
    run: runOf(attempt),
    isDue: due.length > 0,
    ...(due.length === 0 && about.doubted.length > 0 ? { isDoubted: true } : {}),
    ...(Number.isFinite(beganAtMs) ? { beganAtMs } : {}),
    nodes,
    switches: switchesAbove(facts, attempt, nodes),
    claims: claimsOf(facts),
    ...(room === undefined ? {} : { room }),
  });
  if (ruling.kind === 'held') return { valid: [], held: due.map((verdict) => ({ verdict, why: ruling.why })) };
  return { valid: due.map((verdict) => (ruling.blames ? verdict : { ...verdict, blamesNobody: true })), held: [] };
}

const NOTHING: JudgedVerdicts = { valid: [], held: [] };

function parseTime(at: string | undefined): number {
  const ms = Date.parse(at ?? '');
  return Number.isNaN(ms) ? Infinity : ms;
}

/** The open incident of that cause about the current run, as recorded. */
function noticedOf(
  { job }: Facts,
  attempt: Attempt,
  cause: VerdictCause,
): { readonly node: string | undefined; readonly beganAt: string } | undefined {
  const kinds: readonly Incident['kind'][] = cause === 'slow' ? ['SlowRank'] : STANDS_STILL;
  const { incarnation = 1 } = attempt;
  const open = recordOf(job).incidents.findLast(
    (one) =>
      one.outcome === undefined &&
      one.epoch === attempt.epoch &&
      one.incarnation === incarnation &&
      kinds.includes(one.kind),
  );
  return open === undefined ? undefined : { node: open.node, beganAt: open.since ?? open.noticedAt };
}

/** Whether the gang has trained since the verdict. */
function isOutdated({ atStep }: Verdict, { observed: { progress } }: Facts, attempt: Attempt): boolean {
  if (atStep === undefined || progress === undefined || !isOfFence(progress, attempt)) return false;
  return progress.step >= atStep + STEPS_OF_RECOVERY;
}

/** Why silence is no evidence now. A node that the API server calls not ready confirms it. */
function doubtOf(verdict: Verdict, facts: Facts, attempt: Attempt): string | undefined {
  if (verdict.isSilence !== true || !hearsFew(facts.observed.hearing?.())) return undefined;
  const node = nodeOfVerdict(facts, attempt, verdict);
  return node === undefined || doesAnswer(nodeStateOf(facts, node)) ? HEARS_FEW : undefined;
}

/** The blamed node; undefined: none, or it is not in the gang. */
function nodeOfVerdict(facts: Facts, attempt: Attempt, verdict: Verdict): string | undefined {
  return placementOf(facts, attempt.epoch)?.spec.nodes[condemnedPod(facts, attempt, verdict)];
}

/** Index of the blamed pod; -1: it is not in the gang, or holds no ranks. */
export function condemnedPod(facts: Facts, attempt: Attempt, { about }: Verdict): number {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  if (placement === undefined) return -1;
  if (about.kind === 'node') {
    const podIndex = placement.nodes.indexOf(about.node);
    return hasRanks(placement, podIndex) ? podIndex : -1;
  }
  if (about.kind === 'gang') return -1;
  const indices = Array.from({ length: podCount(placement) }, (_, podIndex) => podIndex);
  return indices.findIndex((podIndex) => ranksOfPod(placement, podIndex).includes(about.rank));
}
