import type { RankTraffic } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';

/** Near to far, as the page calls what is between two ranks. */
const BOUNDARIES = [
  ['gpu', 'GPUs'],
  ['node', 'nodes'],
  ['nvlinkDomain', 'NVLink domains'],
  ['leaf', 'leaves'],
  ['spine', 'spines'],
  ['core', 'cores'],
  ['island', 'islands'],
] as const satisfies readonly (readonly [keyof RankTraffic, string])[];

/** What a step sends over one boundary. */
export interface TrafficRow {
  /** `between leaves`. */
  readonly where: string;
  readonly bytes: string;
  /** Of all that ranks send each other, 0 to 1. */
  readonly share: number;
}

/** The boundaries that something crosses, near to far: whatever crosses one crosses all nearer ones. None where ranks send each other nothing. */
export function trafficRows(traffic: RankTraffic): readonly TrafficRow[] {
  return BOUNDARIES.flatMap(([boundary, words]) =>
    traffic[boundary] > 0
      ? [
          {
            where: `between ${words}`,
            bytes: formatBytes(traffic[boundary]),
            share: traffic.gpu > 0 ? traffic[boundary] / traffic.gpu : 0,
          },
        ]
      : [],
  );
}
