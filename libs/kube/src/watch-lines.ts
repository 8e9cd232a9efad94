import { KubeApiError, parseStatus } from './errors.ts';
import type { KubeObject } from './kube-object.ts';
import { parseObject } from './parse-object.ts';

/** One parsed line of a watch. */
export type WatchLine<T extends KubeObject> =
  | {
      readonly kind: 'event';
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
      readonly object: T;
      /** The line was not parsed; the object is the kept form of that version. */
      readonly isKept?: true;
    }
  /** `endsList`: the streamed list is complete. */
  | { readonly kind: 'bookmark'; readonly resourceVersion: string; readonly endsList: boolean }
  | { readonly kind: 'error'; readonly status: unknown }
  /** Not a valid event of this watch; the stream can no longer be trusted. */
  | { readonly kind: 'malformed'; readonly why: string };

/**
 * The complete lines of a byte stream. If the stream ends within a line, `onTail` gets the number of bytes of that line. A line longer than
 * `maxLineBytes` ends the iteration with an error, so that a stream without newlines cannot fill the memory.
 */
export async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  options: { readonly maxLineBytes: number; readonly onTail: (bytes: number) => void },
): AsyncGenerator<string> {
  // Bytes, not text: a chunk may end inside a character.
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE, start); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      pending.push(chunk.subarray(start, end));
      const line = Buffer.concat(pending).toString('utf8');
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < chunk.length) {
      pending.push(chunk.subarray(start));
      pendingBytes += chunk.length - start;
      if (pendingBytes > options.maxLineBytes) {
        throw new OversizedLine(`a watch line exceeds ${options.maxLineBytes} bytes without an end`);
      }
    }
  }
  if (pendingBytes > 0) options.onTail(pendingBytes);
}

/** A line that exceeds the size limit. */
export class OversizedLine extends Error {
  override readonly name = 'OversizedLine';
}

/** Parses one line. Never throws. */
export function parseWatchLine<T extends KubeObject>(line: string): WatchLine<T> {
  let value: unknown;
  try {
    value = parseObject(line);
  } catch {
    return { kind: 'malformed', why: 'not JSON' };
  }
  if (typeof value !== 'object' || value === null) return { kind: 'malformed', why: 'not an object' };
  const { type, object } = value as { readonly type?: unknown; readonly object?: unknown };
  if (type === 'ERROR') return { kind: 'error', status: object };
  const metadata = (object as { readonly metadata?: Readonly<Record<string, unknown>> | null } | null | undefined)
    ?.metadata;
  if (type === 'BOOKMARK') {
    const version = metadata?.['resourceVersion'];
    return typeof version === 'string' && version !== ''
      ? { kind: 'bookmark', resourceVersion: version, endsList: endsList(metadata?.['annotations']) }
      : { kind: 'malformed', why: 'a bookmark without resourceVersion' };
  }
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED')
    return { kind: 'malformed', why: 'an unknown event type' };
  if (!isIdentified(object))
    return { kind: 'malformed', why: 'an event whose object lacks name, uid or resourceVersion' };
  return { kind: 'event', type, object: object as T };
}

/** Object and version of a line. */
export interface LineHead {
  readonly type: 'ADDED' | 'MODIFIED';
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Reads object and version from the beginning of a line without parsing it. Undefined if the line does not begin like a built-in object from an API
 * server, or is not a change of an existing object. Matches from the first character, so that text inside the object cannot imitate it.
 */
export function headOf(line: string): LineHead | undefined {
  const [, type, uid, resourceVersion] = HEAD.exec(line) ?? [];
  if (uid === undefined || resourceVersion === undefined) return undefined;
  return { type: type === 'ADDED' ? 'ADDED' : 'MODIFIED', uid, resourceVersion };
}

const HEAD =
  /^\{"type":"(ADDED|MODIFIED)","object":\{"kind":"\w{1,63}","apiVersion":"[\w./-]{1,253}","metadata":\{"name":"[^"\\]{1,253}",(?:"generateName":"[^"\\]{1,253}",)?(?:"namespace":"[^"\\]{1,63}",)?"uid":"([^"\\]{1,64})","resourceVersion":"(\d{1,20})"/;

/** Whether a received value has the metadata that the cache requires. */
export function isIdentified(object: unknown): object is KubeObject {
  if (typeof object !== 'object' || object === null) return false;
  const { metadata } = object as { readonly metadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null) return false;
  const { name, uid, resourceVersion, namespace } = metadata as Readonly<Record<string, unknown>>;
  return (
    isText(name) && isText(uid) && isText(resourceVersion) && (namespace === undefined || typeof namespace === 'string')
  );
}

const NEWLINE = 0x0a;

function endsList(annotations: unknown): boolean {
  const { 'k8s.io/initial-events-end': end } = (annotations ?? {}) as Readonly<Record<string, unknown>>;
  return end === 'true';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The Status inside an ERROR event as the error it stands for. */
export function errorOfEvent(status: unknown): KubeApiError {
  const facts = parseStatus(status);
  const code = facts?.code ?? (facts?.reason === 'Expired' || facts?.reason === 'Gone' ? 410 : 500);
  const seconds = (facts?.details as { readonly retryAfterSeconds?: unknown } | undefined)?.retryAfterSeconds;
  return new KubeApiError({
    status: code,
    reason: facts?.reason ?? 'Unknown',
    message: `the watch sent an error: ${facts?.message ?? 'without a message'}`,
    ...(typeof seconds === 'number' && seconds >= 0 ? { retryAfterMs: Math.min(seconds, 120) * 1000 } : {}),
  });
}
