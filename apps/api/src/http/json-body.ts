import { DomainError } from '@coxswain/domain-error';

/** Deepest nesting of a body. The deepest document of ours has 6 levels; GraphQL variables add a few. */
export const MAX_BODY_DEPTH = 32;
export const MAX_BODY_BYTES = 1_048_576;

/** Parses a body after looking at its depth, and refuses the keys by which objects are poisoned. An empty body is no body. */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  if (depthOf(text) > MAX_BODY_DEPTH) {
    throw new DomainError('INVALID_REQUEST', `the body is nested more than ${MAX_BODY_DEPTH} levels deep; flatten it`);
  }
  try {
    return JSON.parse(text, refusePoison);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError('INVALID_REQUEST', `the body is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

function refusePoison(key: string, value: unknown): unknown {
  if (key === '__proto__' || key === 'constructor' || key === 'prototype') {
    throw new DomainError(
      'INVALID_REQUEST',
      `the body holds the key "${key}", which no document of this API has; leave it out`,
    );
  }
  return value;
}

/** Levels of brackets outside of strings; one pass, no recursion. Stops counting just above the limit. */
function depthOf(text: string): number {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at++;
      else if (code === 0x22) inString = false;
      continue;
    }
    if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth++;
      if (depth > MAX_BODY_DEPTH) return depth;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  // The depth that was reached is only of interest when it is too large.
  return 0;
}
