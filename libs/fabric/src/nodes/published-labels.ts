/** What is concluded of a node, as labels for people and for other schedulers. Nothing of ours reads them back: a conclusion that feeds itself would outlive what it was drawn from. */
import { labelValueProblem, PUBLISHED_LABELS } from '@coxswain/api-types';
import type { FabricNode } from './fabric.ts';
import { isInOwnDomain } from './own-domain.ts';
import { namedSwitch, ownNameOf } from './place-name.ts';

/** Switches of the dialects, zone and region. */
const MOST_TIERS = 10;

/** Every label that is published, and the only ones that are ever taken away. */
const PUBLISHED_KEYS: readonly string[] = [
  PUBLISHED_LABELS.island,
  PUBLISHED_LABELS.nvlinkDomain,
  PUBLISHED_LABELS.nicType,
  ...Array.from({ length: MOST_TIERS }, (_, tier) => `${PUBLISHED_LABELS.switchTierPrefix}${tier}`),
];
const KEYS: ReadonlySet<string> = new Set(PUBLISHED_KEYS);

/** Values by label key. */
export type Labels = Readonly<Record<string, string>>;

/** SHA-256 of a text in hexadecimal digits, or at least ten of them. */
export type Digest = (text: string) => string;

/**
 * Two nodes carry the same value exactly if they are in the same place. What nobody names has no label: a node that is an NVLink domain of its own, a switch
 * that no label of a producer names.
 */
export function publishedLabels(node: FabricNode, digest: Digest): Labels {
  const { island, nvlinkDomain, nicType, switches } = node;
  const labels: readonly (readonly [string, string | undefined])[] = [
    [PUBLISHED_LABELS.island, island],
    [PUBLISHED_LABELS.nvlinkDomain, isInOwnDomain(node) ? undefined : nvlinkDomain],
    [PUBLISHED_LABELS.nicType, nicType],
    ...switches
      .slice(0, MOST_TIERS)
      .map((_, tier) => [`${PUBLISHED_LABELS.switchTierPrefix}${tier}`, namedSwitch(switches, tier)] as const),
  ];
  return Object.fromEntries(
    labels.flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, labelValue(value, digest)]])),
  );
}

/** Of a node's labels those that are published. */
export function publishedOf(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => KEYS.has(key)));
}

/** The others, which alone are read. */
export function withoutPublished(labels: Labels): Labels {
  return Object.keys(labels).some((key) => KEYS.has(key))
    ? Object.fromEntries(Object.entries(labels).filter(([key]) => !KEYS.has(key)))
    : labels;
}

/** What a merge patch changes of a node's labels; undefined where nothing is to be. Null: it goes. */
export function labelChange(there: Labels, wanted: Labels): Readonly<Record<string, string | null>> | undefined {
  const change = Object.fromEntries(
    PUBLISHED_KEYS.filter((key) => there[key] !== wanted[key]).map((key) => [key, wanted[key] ?? null]),
  );
  return Object.keys(change).length === 0 ? undefined : change;
}

const DIGITS = 10;
/** Of a label's value, with a dot and so many digits behind it. */
const MOST_OF_NAME = 63 - 1 - DIGITS;
const LIKE_OURS = new RegExp(`\\.[0-9a-f]{${DIGITS}}$`);

/** As it is where that is a value of a label; else its own name and a part of its digest, since two places may be called alike. Nobody can name a place like that himself. */
function labelValue(name: string, digest: Digest): string {
  if (labelValueProblem(name) === undefined && !LIKE_OURS.test(name)) return name;
  const own = ownNameOf(name)
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, MOST_OF_NAME)
    .replace(/^[^A-Za-z0-9]+/, '');
  const short = digest(name).slice(0, DIGITS);
  return own === '' ? `x.${short}` : `${own}.${short}`;
}
