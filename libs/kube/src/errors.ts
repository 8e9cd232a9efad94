import { cutText, safeText } from '@coxswain/safe-text';

/** What the server's Status object, or the lack of an answer, says. */
export interface KubeApiErrorFacts {
  /** HTTP status; 0 when there was no usable answer. */
  readonly status: number;
  /**
   * `Status.reason` of the server (NotFound, AlreadyExists, Conflict, Expired, ...). Without an answer, when a write may or may not have been
   * carried out: ConnectionFailed, Timeout, Aborted, CredentialsUnavailable or MalformedAnswer.
   */
  readonly reason: string;
  readonly message: string;
  /** From `Retry-After` or `details.retryAfterSeconds`. */
  readonly retryAfterMs?: number;
  /** `Status.details`: kind, name, causes. */
  readonly details?: unknown;
  readonly cause?: unknown;
}

/** A request to the Kubernetes API that did not succeed. Ask the predicates below rather than its fields. */
export class KubeApiError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly details: unknown;

  constructor(facts: KubeApiErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'KubeApiError';
    this.status = facts.status;
    this.reason = facts.reason;
    this.retryAfterMs = facts.retryAfterMs;
    this.details = facts.details;
  }
}

/** The object (or the path) does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasStatus(error, 404);
}

/** A create met an object of that name. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** A precondition (resourceVersion, uid, field ownership) did not hold. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409 && error.reason !== 'AlreadyExists';
}

/** The resourceVersion or continue token asked for has been compacted away: list again. */
export function isGone(error: unknown): boolean {
  return hasStatus(error, 410);
}

/** Authenticated but not allowed, or refused by admission or quota. */
export function isForbidden(error: unknown): boolean {
  return hasStatus(error, 403);
}

/**
 * The authorizer said no, not admission: the installation lacks a right, or a server that has just started does not know the roles yet.
 * Nothing is wrong with the object, so trying again later is right. The authorizer's words are fixed (`... is forbidden: User "..." cannot ...`).
 */
export function isUnauthorizedVerb(error: unknown): boolean {
  return isForbidden(error) && error instanceof KubeApiError && / forbidden: User "[^"]*" cannot /.test(error.message);
}

/**
 * The server does not serve this kind: its definition is not installed, or a server that has just started has not read it yet. Of a group that it does
 * not know at all it says no more than that there is no such page.
 */
export function isKindUnknown(error: unknown): boolean {
  if (!isNotFound(error) || !(error instanceof KubeApiError)) return false;
  return /could not find the requested resource|404 page not found/.test(error.message);
}

/** The server refused the object itself: trying the same again is useless. 400 is strict decoding, 422 validation. */
export function isInvalid(error: unknown): boolean {
  return hasStatus(error, 422) || hasStatus(error, 400);
}

/** A webhook stands in the way of this object that takes no part in dry runs, so a dry run says nothing of it. */
export function isDryRunUnsupported(error: unknown): boolean {
  return hasStatus(error, 400) && /does not support dry run/.test(String(error));
}

/** The object is larger than the server takes (413), or than etcd behind it does (500, in fixed words). */
function isTooLarge(error: unknown): boolean {
  return hasStatus(error, 413) || (hasStatus(error, 500) && /request is too large|larger than max/.test(String(error)));
}

/**
 * Admission or validation said no to the object itself, as it will again: trying the same again is useless, and whoever made the object
 * should be told. A right that the installation lacks says nothing of the object.
 */
export function isRefusal(error: unknown): boolean {
  return isInvalid(error) || isTooLarge(error) || (isForbidden(error) && !isUnauthorizedVerb(error));
}

/** Nothing is wrong with the request: the server is away, busy or restarting, or credentials are being renewed. Conflicts are not included. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 0) return error.reason !== 'Aborted';
  if (isTooLarge(error)) return false;
  return error.status === 401 || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** It is unknown whether a write happened: read before deciding anything. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  return (error.status === 0 && error.reason !== 'CredentialsUnavailable') || error.status >= 500;
}

/** How long the server asked to wait, if it did. */
export function retryAfterMsOf(error: unknown): number | undefined {
  return error instanceof KubeApiError ? error.retryAfterMs : undefined;
}

/** The error of a non-2xx answer. `body` is the raw text: a Status object normally, anything at all behind a proxy. */
export function errorFromAnswer(answer: {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
  readonly request: string;
}): KubeApiError {
  const parsed = parseStatus(answer.body);
  const retryAfterMs = parseRetryAfter(answer.retryAfter) ?? retryAfterOfDetails(parsed?.details);
  const text = parsed?.message ?? cutText(answer.body, 300);
  return new KubeApiError({
    status: answer.status,
    reason: parsed?.reason ?? REASON_OF_STATUS[answer.status] ?? 'Unknown',
    // A webhook's words pass through the server as they are, and may go on into a status.
    message: safeText(`${answer.request} was answered ${answer.status}: ${text}`, MAX_MESSAGE_LENGTH),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(parsed?.details === undefined ? {} : { details: parsed.details }),
  });
}

const MAX_MESSAGE_LENGTH = 4_096;

interface StatusFacts {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: unknown;
}

/** The fields of a Status object; undefined when the text is none. */
export function parseStatus(body: unknown): StatusFacts | undefined {
  const value = typeof body === 'string' ? parseJson(body) : body;
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, code, reason, message, details } = value as Record<string, unknown>;
  if (kind !== 'Status') return undefined;
  return {
    ...(typeof code === 'number' ? { code } : {}),
    ...(typeof reason === 'string' && reason !== '' ? { reason } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    ...(details === undefined ? {} : { details }),
  };
}

/** What happens to a request whose answer carries no Status. */
const REASON_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** A server that asks for more than this is broken or hostile. */
const MAX_RETRY_AFTER_MS = 120_000;

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof KubeApiError && error.status === status;
}

function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header.trim());
  if (!Number.isFinite(seconds) || seconds < 0) return undefined;
  return Math.min(seconds * 1000, MAX_RETRY_AFTER_MS);
}

function retryAfterOfDetails(details: unknown): number | undefined {
  const seconds = (details as { readonly retryAfterSeconds?: unknown } | undefined)?.retryAfterSeconds;
  return typeof seconds === 'number' ? parseRetryAfter(String(seconds)) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
