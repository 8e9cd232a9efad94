import { createHash } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { z } from 'zod';
import type { DescribedHeader } from './described-parameter.ts';

/*
 * Entity tags are strong and name one answer, byte by byte: `"HASH"`, or `"VERSION.HASH"` where it is counted how often what is asked for has changed
 * (`specVersion` of a job). If-None-Match, and If-Match of a request that reads, look at all of it. If-Match of a change looks at the version: a change
 * touches only what is asked for, so what the cluster says of a job meanwhile does not outdate it (docs/adr/0034).
 */

/** Most tags of one header that are looked at. */
const MAX_TAGS = 32;
const TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
const OUR_TAG = /^([0-9]{1,15})(\.[\w-]{22})?$/;

/** The header of an answer that names it. */
export const ETAG: DescribedHeader = {
  name: 'ETag',
  description: 'Names this answer; of a job it begins with specVersion.',
  schema: z.string().regex(/^"([0-9]{1,15}\.)?[\w-]{22}"$/),
};
/** The header by which a change insists on what it changes, and a reading on what it reads. */
export const IF_MATCH: DescribedHeader = {
  name: 'If-Match',
  description:
    'Tags as ETag gave them, separated by commas: where it is none of these any more, nothing is done. `*`: any.',
  schema: z.string(),
};
/** The header by which a reader says what it has. */
export const IF_NONE_MATCH: DescribedHeader = {
  name: 'If-None-Match',
  description: 'Tags as ETag gave them, separated by commas: an answer with one of these is not sent again (304).',
  schema: z.string(),
};

interface EntityTag {
  readonly isWeak: boolean;
  readonly opaque: string;
}

/** The strong tag of an answer. `version`: of what is asked for, where it is counted. */
export function etagOf(body: string | Buffer, version?: number): string {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  return version === undefined ? `"${hash}"` : `"${version}.${hash}"`;
}

/**
 * The versions that `If-Match` allows a change of; undefined when it is absent or `*`. Those tags that are weak, or not made here, allow none, so the
 * list can be empty.
 */
export function versionsOfIfMatch(header: string | undefined): readonly number[] | undefined {
  if (header === undefined) return undefined;
  const tags = tagsOf(header);
  if (tags === '*') return undefined;
  if (tags === undefined) {
    throw new DomainError(
      'INVALID_REQUEST',
      `If-Match must be * or at most ${MAX_TAGS} entity tags as ETag gave them, such as "3" or "3.2jmj7l5rSw0yVb_vlWAYkK"`,
    );
  }
  return tags.flatMap(({ isWeak, opaque }) => {
    const version = OUR_TAG.exec(opaque)?.[1];
    return isWeak || version === undefined ? [] : [Number(version)];
  });
}

/** What the conditions of a request that reads say of an answer with this tag (RFC 9110, 13.2.2). A condition that cannot be read is none. */
export function outcomeOfReading(
  conditions: { readonly ifMatch?: string | undefined; readonly ifNoneMatch?: string | undefined },
  etag: string,
): 'send' | 'not modified' | 'precondition failed' {
  const opaque = etag.slice(1, -1);
  const wanted = conditions.ifMatch === undefined ? undefined : tagsOf(conditions.ifMatch);
  const isWanted = wanted === undefined || wanted === '*' || wanted.some((tag) => !tag.isWeak && tag.opaque === opaque);
  if (!isWanted) return 'precondition failed';
  const known = conditions.ifNoneMatch === undefined ? undefined : tagsOf(conditions.ifNoneMatch);
  // The weak comparison: what compresses answers on the way makes strong tags weak.
  const isKnown = known === '*' || known?.some((tag) => tag.opaque === opaque) === true;
  return isKnown ? 'not modified' : 'send';
}

/** Undefined for what is neither `*` nor a list of entity tags. */
function tagsOf(header: string): readonly EntityTag[] | '*' | undefined {
  if (header.trim() === '*') return '*';
  const tags = header.split(',', MAX_TAGS + 1).map((text) => TAG.exec(text.trim()));
  if (tags.length > MAX_TAGS) return undefined;
  const read = tags.flatMap((match) =>
    match === null ? [] : [{ isWeak: match[1] !== undefined, opaque: match[2] ?? '' }],
  );
  return read.length === tags.length ? read : undefined;
}
