import { DomainError } from '@coxswain/domain-error';

/** Which limit of a project was met; the label of a metric. */
export const LIMITS = [
  'rate',
  'changes',
  'concurrency',
  'cpu',
  // No request meets it any more; it stays, so that queries of metrics stay valid.
  'documents',
  'bodies',
  'writes',
  'jobs',
  'endedJobs',
  'layouts',
  'tokens',
  'webhooks',
  'adoptedCheckpoints',
  'plans',
  'streams',
  'logStreams',
  'stacks',
  'answers',
  'codeBytes',
] as const;
/** One entry of {@link LIMITS}. */
export type Limit = (typeof LIMITS)[number];

/** RATE_LIMITED, and when it is worth asking again. */
export class LimitExceeded extends DomainError {
  readonly limit: Limit;
  /** Whole, at least 1. */
  readonly retryAfterSeconds: number;

  constructor(limit: Limit, message: string, retryAfterSeconds: number) {
    super('RATE_LIMITED', message);
    this.limit = limit;
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));
  }
}
