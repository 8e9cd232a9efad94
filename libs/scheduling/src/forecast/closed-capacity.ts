import type { CapacityProfile, Need } from './capacity-profile.ts';
import type { ForecastInput } from './forecast-input.ts';

/** Nodes of one type that are closed for a time, by count. */
interface ClosedCount {
  readonly type: string;
  readonly need: Need;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Closes nodes in windows of the Fabric. A job that runs there moves away, and needs other nodes until it ends, so it counts as before. A job of the
 * namespace for which a window is kept sees its nodes open; afterwards its nodes count twice until the window ends, so others start late
 * rather than early.
 */
export class ClosedCapacity {
  readonly #profiles: ReadonlyMap<string, CapacityProfile>;
  readonly #ofNamespace: ReadonlyMap<string, readonly ClosedCount[]>;

  constructor(
    input: Pick<ForecastInput, 'closed' | 'nodes' | 'nowMs'>,
    profiles: ReadonlyMap<string, CapacityProfile>,
  ) {
    this.#profiles = profiles;
    const open = (input.closed ?? []).filter(({ untilMs }) => untilMs > input.nowMs);
    const typeOf = new Map(open.length === 0 ? [] : input.nodes.map((node) => [node.name, node]));
    const counts = open.flatMap(({ namespace, nodes, ...time }) => {
      const known = nodes.flatMap((name) => typeOf.get(name) ?? []);
      return [...Map.groupBy(known, ({ type }) => type)].map(([type, ofType]) => {
        const full = profiles.get(type)?.gpusPerNode ?? 1;
        const whole = ofType.filter(({ gpus }) => gpus === full).length;
        const gpus = ofType.reduce((sum, node) => sum + node.gpus, 0) - whole * full;
        return { namespace, count: { type, need: { nodes: whole, gpus }, ...time } };
      });
    });
    for (const { count } of counts) this.#apply(count, 1);
    const kept = counts.flatMap(({ namespace, count }) => (namespace === undefined ? [] : [{ namespace, count }]));
    this.#ofNamespace = new Map(
      [...Map.groupBy(kept, ({ namespace }) => namespace)].map(([name, ofName]) => [
        name,
        ofName.map(({ count }) => count),
      ]),
    );
  }

  /** Whether a window is kept for jobs of the namespace. */
  isKeptFor(namespace: string | undefined): boolean {
    return namespace !== undefined && this.#ofNamespace.has(namespace);
  }

  /** Does something while nodes that are kept for the namespace are open. */
  openFor<T>(namespace: string | undefined, action: () => T): T {
    const counts = this.#ofNamespace.get(namespace ?? '') ?? [];
    for (const count of counts) this.#apply(count, -1);
    const result = action();
    for (const count of counts) this.#apply(count, 1);
    return result;
  }

  #apply({ type, need: { nodes, gpus }, fromMs, untilMs }: ClosedCount, sign: 1 | -1): void {
    this.#profiles.get(type)?.close({ nodes: sign * nodes, gpus: sign * gpus }, fromMs, untilMs);
  }
}
