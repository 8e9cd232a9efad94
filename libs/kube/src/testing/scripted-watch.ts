import type { KubeClient, ListOptions } from '../kube-client.ts';
import { KubeApiError } from '../errors.ts';
import type { KubeList, KubeObject } from '../kube-object.ts';

/** One thing a scripted watch does: send bytes, end (in order, by a reset), refuse to open, or say nothing any more. */
export type WatchStep =
  | { readonly send: string | Uint8Array }
  | { readonly end: 'close' | 'reset' | 'silence' }
  | { readonly refuse: KubeApiError };

/** A pod-like thing with as little as an object can have. */
export function anObject(name: string, facts: { readonly uid?: string; readonly version: number }): KubeObject {
  const { uid = `uid-${name}`, version } = facts;
  return {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name, namespace: 'ns', uid, resourceVersion: String(version) },
  };
}

/** A watch line with its newline. */
export function anEvent(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** The bookmark after which a list that is streamed is complete, as of `version`. */
export function theEndOfTheList(version: number): string {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  return anEvent('BOOKMARK', { metadata: { resourceVersion: String(version), annotations } });
}

/** The list and watch side of an apiserver that answers exactly what a test wrote down, list by list and watch by watch. */
export class ScriptedWatch implements Pick<KubeClient, 'list' | 'requestStream'> {
  readonly #lists: (KubeList<KubeObject> | KubeApiError)[];
  readonly #watches: (readonly WatchStep[])[];
  /** What was asked, in order: `list`, `list continue=…`, `watch <version>`, `stream` (a watch that lists first). */
  readonly asked: string[] = [];
  readonly listOptions: ListOptions[] = [];

  constructor(script: {
    readonly lists: readonly (readonly KubeObject[] | KubeList<KubeObject> | KubeApiError)[];
    readonly watches?: readonly (readonly WatchStep[])[];
    /** The version of lists given as bare items: the highest of theirs, and at least this. */
    readonly version?: number;
  }) {
    this.#lists = script.lists.map(
      (list) => (Array.isArray(list) ? listOf(list, script.version ?? 10) : list) as never,
    );
    this.#watches = [...(script.watches ?? [])];
  }

  list<T extends KubeObject>(_path: string, options: ListOptions = {}): Promise<KubeList<T>> {
    this.asked.push(options.continue === undefined ? 'list' : `list continue=${options.continue}`);
    this.listOptions.push(options);
    // The last one is given for ever.
    const next = this.#lists.length > 1 ? this.#lists.shift() : this.#lists[0];
    if (next === undefined || next instanceof KubeApiError)
      return Promise.reject(next ?? new Error('no list is scripted'));
    return Promise.resolve(structuredClone(next) as KubeList<T>);
  }

  requestStream(
    _path: string,
    options: { readonly query?: Readonly<Record<string, unknown>>; readonly signal: AbortSignal },
  ): Promise<{ status: number; headers: Record<string, never>; body: AsyncIterable<Uint8Array> }> {
    const isList = options.query?.['sendInitialEvents'] === true;
    this.asked.push(isList ? 'stream' : `watch ${String(options.query?.['resourceVersion'])}`);
    const steps = this.#watches.shift() ?? [{ end: 'silence' as const }];
    const first = steps[0];
    if (first !== undefined && 'refuse' in first) return Promise.reject(first.refuse);
    return Promise.resolve({ status: 200, headers: {}, body: play(steps, options.signal) });
  }
}

/** A list of items as of the highest version among them, or `version` if that is higher. */
export function listOf(items: readonly KubeObject[], version: number, token?: string): KubeList<KubeObject> {
  const newest = Math.max(version, ...items.map(({ metadata }) => Number(metadata.resourceVersion)));
  const metadata = { resourceVersion: String(newest), ...(token === undefined ? {} : { continue: token }) };
  return { apiVersion: 'v1', kind: 'ThingList', metadata, items };
}

async function* play(steps: readonly WatchStep[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (const step of steps) {
    if ('send' in step) yield typeof step.send === 'string' ? Buffer.from(step.send) : step.send;
    else if ('refuse' in step) throw step.refuse;
    else if (step.end === 'close') return;
    else if (step.end === 'reset') throw lost('ConnectionFailed');
    else break;
  }
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  throw lost('Aborted');
}

function lost(reason: 'ConnectionFailed' | 'Aborted'): KubeApiError {
  return new KubeApiError({ status: 0, reason, message: `the scripted watch ended: ${reason}` });
}
