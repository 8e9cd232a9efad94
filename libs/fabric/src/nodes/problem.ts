import type { NodeReading } from './node-reading.ts';

export const FABRIC_PROBLEM_KINDS = [
  'DomainOverIslands',
  'ProducersDisagree',
  'SwitchOfTwoParents',
  'CircleOfSwitches',
  'NicsDisagree',
  'GpusNotCounted',
  'NamedTwice',
  'Unreadable',
  'ChangedUnderJob',
  'WindowWithoutNodes',
  'WindowsOverlap',
] as const;

/** A contradiction in what is said of the nodes. */
export interface FabricProblem {
  readonly kind: (typeof FABRIC_PROBLEM_KINDS)[number];
  /** Some of the nodes, at most 5. */
  readonly nodes: readonly string[];
  readonly message: string;
}

const MOST_NAMES = 3;

/** `n1, n2, n3 and 7 more` */
export function listed(readings: readonly NodeReading[]): string {
  return listedNames(readings.map(({ node }) => node.name));
}

/** Of the API server's objects none is longer; in a file it may be. */
export const MOST_NAME_CHARACTERS = 253;

/** Lists the first names, each cut to a bounded length, and the number of the others. */
export function listedNames(all: readonly string[]): string {
  const names = all.slice(0, MOST_NAMES).map((name) => name.slice(0, MOST_NAME_CHARACTERS));
  const more = all.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
