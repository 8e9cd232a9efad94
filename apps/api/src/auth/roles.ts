import type { WhoAmI } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { Principal } from './principal.ts';

/** Everything that can be allowed. */
export const ACTIONS = [
  'project.read',
  'project.create',
  'token.read',
  'token.write',
  'job.read',
  'job.write',
  'layout.read',
  'layout.write',
  'plan.read',
  'plan.write',
] as const;
export type Action = (typeof ACTIONS)[number];

const READ: readonly Action[] = ['project.read', 'job.read', 'layout.read', 'plan.read'];
const WORK: readonly Action[] = [...READ, 'job.write', 'layout.write', 'plan.write'];

/** What each role may do inside its project; a cluster administrator may do everything in every project. */
export const ROLE_ACTIONS: Readonly<Record<WhoAmI['role'], readonly Action[]>> = {
  viewer: READ,
  operator: WORK,
  admin: [...WORK, 'token.read', 'token.write'],
  clusterAdmin: ACTIONS,
};

/** Whether the role allows it at all; whose project it is, is another question. */
export function allows(role: WhoAmI['role'], action: Action): boolean {
  return ROLE_ACTIONS[role].includes(action);
}

/** FORBIDDEN unless the principal's role allows the action. */
export function requireAction(principal: Principal, action: Action): void {
  if (allows(principal.role, action)) return;
  const able = (Object.keys(ROLE_ACTIONS) as WhoAmI['role'][]).filter((role) => allows(role, action));
  throw new DomainError(
    'FORBIDDEN',
    `role ${principal.role} does not allow ${action}; use a token with role ${able.join(' or ')}`,
  );
}
