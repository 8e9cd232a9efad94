import type { FastifyRequest } from 'fastify';
import { callerOf, projectNamedBy } from '../auth/auth.guard.ts';
import type { ProjectLimits } from '../limits/project-limits.ts';
import { clientNetwork } from './client-network.ts';

/** Whose share of bytes a request uses. */
export interface ShareOwner {
  /** A project, or a principal that asks of none. Undefined: a stranger. */
  readonly owner: string | undefined;
  /** Within the share: a principal, or the network of a stranger. */
  readonly member: string;
}

/** The owner of a request's share, as {@link ProjectLimits.ownerOf} decides it. */
export function shareOwnerOf(request: FastifyRequest, limits: Pick<ProjectLimits, 'ownerOf'>): ShareOwner {
  const caller = callerOf(request);
  if (caller === undefined) return { owner: undefined, member: clientNetwork(request.ip) };
  return { owner: limits.ownerOf(caller, projectNamedBy(request)), member: caller.id };
}
