import { cutText, safeText } from '@coxswain/safe-text';

/** The facts of a failed request: from the server's Status object, or from the lack of a response. */
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

/** A request to the Kubernetes API that failed. Use the predicates below instead of its fields. */
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

/** What the server answers if a webhook or an admission policy denied the request. A webhook chooses the status itself. */
const DENIED =
  /admission webhook "[^"]*" denied the request|AdmissionPolicy '[^']*' with binding '[^']*' denied request/;
/** What the server answers if a webhook or an admission policy that must agree could not be asked. */
const UNASKED = /failed calling (?:webhook|admission policy) "|failed calling webhook, /;

/**
 * A webhook or an admission policy denied the request. Whatever its status, it does not state whether the object exists, has changed, or passed
 * the tests of a patch.
 */
export function isDeniedByAdmission(error: unknown): boolean {
  return error instanceof KubeApiError && DENIED.test(error.message);
}

/** A webhook that must agree to the request does not answer. A later retry may succeed, and a user should see the reason meanwhile. */
export function isAdmissionUnavailable(error: unknown): boolean {
  return error instanceof KubeApiError && error.status >= 500 && UNASKED.test(error.message);
}

/** The server's own sentence, without the request that this client puts before it. */
export function serverSentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(REQUEST_PREFIX, '');
}

const REQUEST_PREFIX = /^[A-Z]+ \S+ was answered \d+: /;

/** The object (or the path) does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasStatus(error, 404) && !isDeniedByAdmission(error);
}

/** A create met an object of that name. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** A precondition (resourceVersion, uid, field ownership) did not hold. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof KubeApiError) || error.status !== 409) return false;
  return error.reason !== 'AlreadyExists' && !isDeniedByAdmission(error);
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
 * The authorizer denied the request, not admission: the installation lacks a right, or a server that has just started does not know the roles yet.
 * The object is valid, so a later retry may succeed. The authorizer's message is fixed (`... is forbidden: User "..." cannot ...`).
 */
export function isUnauthorizedVerb(error: unknown): boolean {
  return isForbidden(error) && error instanceof KubeApiError && / forbidden: User "[^"]*" cannot /.test(error.message);
}

/**
 * The server does not serve this kind: its definition is not installed, or a server that has just started has not read it yet. For an unknown group
 * the server only responds `404 page not found`.
 */
export function isKindUnknown(error: unknown): boolean {
  if (!isNotFound(error) || !(error instanceof KubeApiError)) return false;
  return /could not find the requested resource|404 page not found/.test(error.message);
}

/** The server rejected the object itself, so a retry is useless. 400 is strict decoding, 422 validation. */
export function isInvalid(error: unknown): boolean {
  return hasStatus(error, 422) || hasStatus(error, 400);
}

/** A webhook for this object does not support dry runs, so a dry run is no evidence about it. */
export function isDryRunUnsupported(error: unknown): boolean {
  return hasStatus(error, 400) && /does not support dry run/.test(String(error));
}

/** The object exceeds the limit of the server (413) or of etcd (500 with a fixed message). */
function isTooLarge(error: unknown): boolean {
  return hasStatus(error, 413) || (hasStatus(error, 500) && /request is too large|larger than max/.test(String(error)));
}

/**
 * Admission or validation rejected the object itself, so a retry is useless and the creator of the object should see the reason. A missing right of
 * the installation is no rejection of the object.
 */
export function isRefusal(error: unknown): boolean {
  if (isDeniedByAdmission(error) || isInvalid(error) || isTooLarge(error)) return true;
  return isForbidden(error) && !isUnauthorizedVerb(error);
}

/** The request is valid, but the server is unavailable, busy or restarting, or credentials are being renewed. Conflicts are not included. */
export function isRetryable(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 0) return error.reason !== 'Aborted';
  if (isTooLarge(error) || isDeniedByAdmission(error)) return false;
  return error.status === 401 || error.status === 408 || error.status === 429 || error.status >= 500;
}

/** A write may or may not have been done; read the object before deciding. */
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
    // The server passes on a webhook's message unchanged, and it may end up in a status.
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

/** The fields of a Status object; undefined if the value is not one. */
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

/** The reason of a response without a Status, by its HTTP status. */
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

/** Upper bound for Retry-After; a server that asks for more is broken or hostile. */
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
