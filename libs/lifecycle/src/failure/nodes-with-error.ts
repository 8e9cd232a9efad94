import { type CrashFacts, fingerprintOf } from '@coxswain/health';

/** What failed on a node, and with which last lines. */
interface Failed {
  readonly node?: string | undefined;
  readonly exit?: Pick<CrashFacts, 'lastLines'> | undefined;
}

/** Other nodes of the gang whose ranks raised the same exception as the rank that failed first. */
export function nodesWithErrorOf(origin: Failed, all: readonly Failed[]): readonly string[] {
  const error = fingerprintOf(origin.exit?.lastLines ?? []);
  if (error === undefined) return [];
  const same = all.filter(({ exit }) => fingerprintOf(exit?.lastLines ?? []) === error);
  return [...new Set(same.flatMap(({ node }) => node ?? []))].filter((node) => node !== origin.node);
}
