import { MAX_PREFLIGHT_NOTES, type PreflightReport } from '@coxswain/api-types';
import { slowPods } from './bandwidth.ts';
import { CHECKS, type Suspicion } from './checks.ts';
import type { Finding, Judgement, ObservedPod } from './judgement.ts';

/**
 * Decides which nodes the reports of a gang blame. A finding that most pods share comes from the image, the job or the network:
 * it becomes a note and blames no node. One pod's word about another counts little: of two measurements between them the better
 * one counts, so a pod that reports everything as slow stands alone. A pod that claims impossible speeds makes other pods of its
 * own job look slow.
 */
export function judgePreflight(pods: readonly ObservedPod[]): Judgement {
  const known = pods.filter(({ report }) => report.outcome !== 'Skipped');
  const suspicions = [...CHECKS.map((check) => check(known)), slowPods(known)];
  const findings = suspicions.filter((one) => !isGangWide(one, pods.length)).flatMap(({ suspects }) => suspects);
  const shared = suspicions.filter((one) => isGangWide(one, pods.length)).map(describeShared);
  const notes = [...shared, ...suspicions.flatMap((one) => one.notes), ...ownNotes(pods)];
  return { findings, notes: notes.slice(0, MAX_PREFLIGHT_NOTES) };
}

/** Describes findings in one sentence, which names each node once. */
export function describeFindings(findings: readonly Finding[]): string {
  const byNode = Map.groupBy(findings, ({ node }) => node);
  return [...byNode].map(([node, all]) => `Node ${node}: ${all.map(({ message }) => message).join('; ')}.`).join(' ');
}

function isGangWide({ suspects }: Suspicion, podCount: number): boolean {
  return suspects.length > 1 && suspects.length * 2 > podCount;
}

function describeShared({ suspects }: Suspicion): string {
  const [first] = suspects;
  return `${suspects.length} pods have the same finding, so Coxswain blames no node: ${first?.message ?? ''}`;
}

/** Notes on what pods could not check; equal notes of several pods become one. */
function ownNotes(pods: readonly ObservedPod[]): readonly string[] {
  const notes = pods.flatMap(({ report, podIndex }) => noteOf(report).map((note) => ({ note, podIndex })));
  return [...Map.groupBy(notes, ({ note }) => note)].map(([note, same]) =>
    same.length === 1 ? `pod ${same[0]?.podIndex}: ${note}` : `${same.length} pods: ${note}`,
  );
}

function noteOf({ note }: PreflightReport): readonly string[] {
  return note === undefined ? [] : [note];
}
