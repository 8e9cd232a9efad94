import { DomainError } from '@coxswain/domain-error';

/** The strong entity tag of a row's version. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** The version that `If-Match` asks for; undefined when it is absent or `*`. */
export function versionOfIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  const match = /^"([0-9]{1,15})"$/.exec(header.trim());
  if (match === null) {
    throw new DomainError('INVALID_REQUEST', 'If-Match must be one entity tag as ETag gave it, such as "3", or *');
  }
  return Number(match[1]);
}
