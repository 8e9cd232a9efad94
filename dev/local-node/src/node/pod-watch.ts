import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from '../kube/kube-types.ts';
import type { NodeApi, WatchEvent } from '../kube/node-api.ts';

const RETRY_MS = 500;
const WATCH_SECONDS = 300;
/** The apiserver sends a bookmark about once a minute, so a silent connection is a dead one. */
const SILENCE_MS = 150_000;

/**
 * Follows the pods bound to one node until `signal` aborts, and calls `sync` with all of them whenever one changed.
 * Whatever ends a watch (a reset, a timeout, an error event), a list follows: nothing is assumed about what was missed.
 */
export async function followPods(
  api: NodeApi,
  nodeName: string,
  options: { readonly sync: (pods: readonly Pod[]) => void; readonly signal: AbortSignal },
): Promise<void> {
  const { sync, signal } = options;
  const selector = `/api/v1/pods?fieldSelector=spec.nodeName%3D${nodeName}`;
  while (!signal.aborted) {
    try {
      const { pods, resourceVersion } = await listPods(api, selector);
      sync([...pods.values()]);
      const path = `${selector}&watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${resourceVersion}`;
      for await (const event of unlessSilent(api, path, signal)) {
        if (event.type === 'ERROR') {
          break;
        }
        if (applyEvent(pods, event)) {
          sync([...pods.values()]);
        }
      }
    } catch {
      // Not reachable, or the connection broke: the next list tells what is true.
    }
    await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function listPods(
  api: NodeApi,
  path: string,
): Promise<{ readonly pods: Map<string, Pod>; readonly resourceVersion: string }> {
  const answer = await api.request({ method: 'GET', path });
  if (answer.status !== 200) {
    throw new Error(`GET ${path} was answered with ${answer.status}`);
  }
  const list = answer.body as {
    readonly metadata: { readonly resourceVersion: string };
    readonly items: readonly Pod[];
  };
  return {
    pods: new Map(list.items.map((pod) => [pod.metadata.uid, pod])),
    resourceVersion: list.metadata.resourceVersion,
  };
}

/** True when the picture changed. */
function applyEvent(pods: Map<string, Pod>, event: WatchEvent): boolean {
  const pod = event.object as Pod;
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
      pods.set(pod.metadata.uid, pod);
      return true;
    case 'DELETED':
      return pods.delete(pod.metadata.uid);
    case 'BOOKMARK':
    case 'ERROR':
      return false;
  }
}

async function* unlessSilent(api: NodeApi, path: string, signal: AbortSignal): AsyncIterable<WatchEvent> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), SILENCE_MS).unref();
  try {
    for await (const event of api.watch(path, AbortSignal.any([signal, silence.signal]))) {
      timer.refresh();
      yield event;
    }
  } finally {
    clearTimeout(timer);
  }
}
