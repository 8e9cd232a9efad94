/** Who asks, and what is there to be asked about? Two projects: one whose people ask, and one that keeps a canary. */
import type { Dice } from '../support/random.ts';

/** Somebody with a token, or without. */
export interface Who {
  readonly role: string;
  readonly token: string | undefined;
}

/** Jobs that wait: what resumes one needs such. */
export const SUSPENDED = '/suspended';

/** Most things of one kind that are remembered. */
const MAX_KNOWN = 200;

/** The ids of a tenant's things, by the parameter of a path that takes them. */
export class Ids {
  readonly project: string;
  readonly #known = new Map<string, string[]>();
  readonly #kept = new Set<string>();

  constructor(project: string) {
    this.project = project;
  }

  /** Never gives this one: what the fuzzer lives on must stay. */
  keep(id: string): void {
    this.#kept.add(id);
  }

  /** Remembers what a collection was answered to hold: `/v1/projects/{project}/jobs` gives what stands next in longer paths. */
  learn(collection: string, ids: readonly string[]): void {
    const known = this.#known.get(collection) ?? [];
    for (const id of ids) if (!known.includes(id) && !this.#kept.has(id)) known.push(id);
    this.#known.set(collection, known.slice(-MAX_KNOWN));
  }

  /** One that may stand for the parameter in the path; undefined while none is known. */
  pick(template: string, parameter: string, dice: Dice): string | undefined {
    const collection = template.slice(0, template.indexOf(`/{${parameter}}`));
    const waiting = template.endsWith('/resume') && dice.chance(0.7) ? this.#known.get(SUSPENDED) : undefined;
    const known = waiting ?? this.#known.get(collection) ?? [];
    return known.length === 0 ? undefined : dice.pick(known);
  }

  /** Any of a collection whose path ends so. */
  anyOf(ending: string, dice: Dice): string | undefined {
    const known = [...this.#known].filter(([collection]) => collection.endsWith(ending)).flatMap(([, ids]) => ids);
    return known.length === 0 ? undefined : dice.pick(known);
  }
}

/** Both projects, as the fuzzer knows them. */
export interface Tenants {
  readonly own: Ids;
  readonly foreign: Ids;
  /** One of each role of the project that asks. */
  readonly members: readonly Who[];
  /** An administrator of the project, for a fuzzer that may revoke its own token. */
  readonly guest: Who;
  readonly administrator: Who;
  readonly nobody: Who;
  readonly stranger: Who;
  /** People who have signed in; each signs out once. */
  readonly sessions: Who[];
  /** What the issuer gives to whoever signs in. */
  readonly idToken: () => string;
}

/** Takes ids out of what a collection answered: one thing that was made, or a page of them. */
export function idsIn(body: unknown): readonly string[] {
  const { id, items } = (body ?? {}) as { readonly id?: unknown; readonly items?: unknown };
  if (typeof id === 'string') return [id];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => {
    const inner = (item as { readonly id?: unknown } | null)?.id;
    return typeof inner === 'string' ? [inner] : [];
  });
}
