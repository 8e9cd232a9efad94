import { MAX_PREFLIGHT_NOTES, type AttemptPreflight, type Fingerprint, type PreflightFacts } from '@coxswain/api-types';
import { cutText, safeText } from '@coxswain/safe-text';
import { describeFindings, judgePreflight } from './judge.ts';
import type { ObservedPod } from './judgement.ts';

/** What the pods of a gang reported before its first rank. */
export interface ObservedGang {
  readonly pods: readonly ObservedPod[];
  /** Nodes that an earlier preflight blamed and that are used again because too few others are free. */
  readonly avoidedNodes: readonly string[];
  readonly image: string | undefined;
}

/** The record of a preflight, and the nodes that it blames. */
export interface GangPreflight extends AttemptPreflight {
  readonly fingerprint: Fingerprint;
  readonly named: { readonly nodes: readonly string[]; readonly message: string };
}

const MAX_NOTE = 256;
const NO_NODE = { nodes: [], message: '' } as const;

/**
 * The result of the preflight of a gang. If a pod could not run its checks, no node is blamed. A node that was blamed before is
 * used again only if the other nodes cannot hold the gang. It is not blamed again, so the job runs if it can.
 */
export function preflightOfGang({ pods, avoidedNodes, image }: ObservedGang): GangPreflight {
  const { findings, notes } = judgePreflight(pods);
  const isSkipped = pods.some(({ report }) => report.outcome === 'Skipped');
  const known = findings.filter(({ node }) => avoidedNodes.includes(node));
  const blamed = isSkipped ? [] : findings.filter((finding) => !known.includes(finding));
  const again = known.map(
    ({ node, message }) => `node ${node} is used again because too few other nodes are free: ${message}`,
  );
  const recordedNotes = [...again, ...notes].slice(0, MAX_PREFLIGHT_NOTES).map((note) => safeText(note, MAX_NOTE));
  return {
    outcome: isSkipped ? 'Skipped' : blamed.length > 0 ? 'NodesNamed' : 'Passed',
    tookMs: Math.round(Math.max(0, ...pods.map(({ report }) => report.tookMs))),
    notes: recordedNotes,
    fingerprint: { ...(image === undefined ? {} : { image: cutText(image, 512) }), ...fingerprintOf(pods) },
    named:
      blamed.length === 0
        ? NO_NODE
        : {
            nodes: [...new Set(blamed.map(({ node }) => node))],
            message: safeText(describeFindings(blamed)),
          },
  };
}

const FINGERPRINT = [
  'python',
  'torch',
  'cuda',
  'nccl',
  'driver',
  'packagesSha256',
] as const satisfies readonly (keyof Fingerprint & keyof PreflightFacts)[];

/** The value of most pods; of equally frequent values the first. */
function fingerprintOf(pods: readonly ObservedPod[]): Fingerprint {
  const entries = FINGERPRINT.flatMap((field) => {
    const values = pods.flatMap(({ report }) => report.facts[field] ?? []);
    const [most] = [...Map.groupBy(values, (value) => value)].toSorted(
      ([, one], [, other]) => other.length - one.length,
    );
    return most === undefined ? [] : [[field, safeText(most[0], 64)] as const];
  });
  return Object.fromEntries(entries);
}
