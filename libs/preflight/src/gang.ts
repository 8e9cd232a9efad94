import { MAX_PREFLIGHT_NOTES, type AttemptPreflight, type Fingerprint, type PreflightFacts } from '@coxswain/api-types';
import { cutText, safeText } from '@coxswain/safe-text';
import { describeFindings, judgePreflight } from './judge.ts';
import type { LookedAtPod } from './judgement.ts';

/** A gang before its first rank, as far as its pods have told. */
export interface LookedAtGang {
  readonly pods: readonly LookedAtPod[];
  /** Nodes that were blamed before, and are used again for want of others. */
  readonly avoidedNodes: readonly string[];
  readonly image: string | undefined;
}

/** What is recorded of it, and who is to blame. */
export interface GangPreflight extends AttemptPreflight {
  readonly fingerprint: Fingerprint;
  readonly named: { readonly nodes: readonly string[]; readonly message: string };
}

const MAX_NOTE = 256;
const NOBODY = { nodes: [], message: '' } as const;

/**
 * What comes of the preflight of a gang. Where a pod could not look around nobody is judged. A node that was blamed before is used again only where
 * the others do not hold the gang: it is not blamed twice, so that the job runs if it can.
 */
export function preflightOfGang({ pods, avoidedNodes, image }: LookedAtGang): GangPreflight {
  const { findings, notes } = judgePreflight(pods);
  const isSkipped = pods.some(({ report }) => report.outcome === 'Skipped');
  const known = findings.filter(({ node }) => avoidedNodes.includes(node));
  const blamed = isSkipped ? [] : findings.filter((finding) => !known.includes(finding));
  const again = known.map(({ node, message }) => `node ${node} is used again for want of others: ${message}`);
  const told = [...again, ...notes].slice(0, MAX_PREFLIGHT_NOTES).map((note) => safeText(note, MAX_NOTE));
  return {
    outcome: isSkipped ? 'Skipped' : blamed.length > 0 ? 'NodesNamed' : 'Passed',
    tookMs: Math.round(Math.max(0, ...pods.map(({ report }) => report.tookMs))),
    notes: told,
    fingerprint: { ...(image === undefined ? {} : { image: cutText(image, 512) }), ...fingerprintOf(pods) },
    named:
      blamed.length === 0
        ? NOBODY
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

/** What most pods say; of several that are as frequent the first. */
function fingerprintOf(pods: readonly LookedAtPod[]): Fingerprint {
  const entries = FINGERPRINT.flatMap((field) => {
    const values = pods.flatMap(({ report }) => report.facts[field] ?? []);
    const [most] = [...Map.groupBy(values, (value) => value)].toSorted(
      ([, one], [, other]) => other.length - one.length,
    );
    return most === undefined ? [] : [[field, safeText(most[0], 64)] as const];
  });
  return Object.fromEntries(entries);
}
