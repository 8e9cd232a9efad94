import { MAX_PREFLIGHT_NOTES, type PreflightReport } from '@coxswain/api-types';
import { slowPods } from './bandwidth.ts';
import { CHECKS, type Suspicion } from './checks.ts';
import type { Finding, Judgement, LookedAtPod } from './judgement.ts';

/**
 * Whose node is to blame, from what each pod of a gang has said of itself. What several pods have and most of them share is not a node's doing, but the
 * image's, the job's or the network's: it is noted and nobody is blamed. Of another one a pod says little: where two have measured the way between
 * them, the better figure counts, so that whoever says that everything is slow stands alone with it. Who claims speeds that nobody has makes others of its own
 * job look slow.
 */
export function judgePreflight(pods: readonly LookedAtPod[]): Judgement {
  const known = pods.filter(({ report }) => report.outcome !== 'Skipped');
  const suspicions = [...CHECKS.map((check) => check(known)), slowPods(known)];
  const findings = suspicions.filter((one) => !isOfMany(one, pods.length)).flatMap(({ suspects }) => suspects);
  const shared = suspicions.filter((one) => isOfMany(one, pods.length)).map(describeShared);
  const notes = [...shared, ...suspicions.flatMap((one) => one.notes), ...ownNotes(pods)];
  return { findings, notes: notes.slice(0, MAX_PREFLIGHT_NOTES) };
}

/** One sentence that names each node once, with everything that speaks against it. */
export function describeFindings(findings: readonly Finding[]): string {
  const byNode = Map.groupBy(findings, ({ node }) => node);
  return [...byNode].map(([node, all]) => `Node ${node}: ${all.map(({ message }) => message).join('; ')}.`).join(' ');
}

function isOfMany({ suspects }: Suspicion, podCount: number): boolean {
  return suspects.length > 1 && suspects.length * 2 > podCount;
}

function describeShared({ suspects }: Suspicion): string {
  const [first] = suspects;
  return `${suspects.length} pods alike, so that no node is blamed: ${first?.message ?? ''}`;
}

/** What pods could not look at; the same note of many is one. */
function ownNotes(pods: readonly LookedAtPod[]): readonly string[] {
  const notes = pods.flatMap(({ report, podIndex }) => noteOf(report).map((note) => ({ note, podIndex })));
  return [...Map.groupBy(notes, ({ note }) => note)].map(([note, same]) =>
    same.length === 1 ? `pod ${same[0]?.podIndex}: ${note}` : `${same.length} pods: ${note}`,
  );
}

function noteOf({ note }: PreflightReport): readonly string[] {
  return note === undefined ? [] : [note];
}
