import { type Role, ROLES } from '@coxswain/api-types';
import { AccessDenied, type AskedProject } from './access-denied.ts';

/** Everything that can be allowed. */
export const ACTIONS = [
  'project.read',
  'project.create',
  'project.update',
  'token.read',
  'token.write',
  'webhook.read',
  'webhook.write',
  'audit.read',
  'group.read',
  'group.write',
  'job.read',
  'job.submit',
  'job.changeOwn',
  'job.changeAny',
  'layout.read',
  'layout.write',
  'plan.read',
  'plan.write',
  'fabric.read',
] as const;
/** One entry of {@link ACTIONS}: what an access check asks for. */
export type Action = (typeof ACTIONS)[number];

const READ: readonly Action[] = ['project.read', 'job.read', 'layout.read', 'plan.read'];
const SUBMIT: readonly Action[] = [...READ, 'job.submit', 'job.changeOwn', 'layout.write', 'plan.write'];
const OPERATE: readonly Action[] = [...SUBMIT, 'job.changeAny'];

/**
 * What each role may do inside its project; a cluster administrator may do everything in every project. A job is one's own when one submitted it over the
 * API: by whichever token or session of the same principal. docs/reference/people.md shows this table; a test compares them.
 */
export const ROLE_ACTIONS: Readonly<Record<Role, readonly Action[]>> = {
  viewer: READ,
  submitter: SUBMIT,
  operator: OPERATE,
  admin: [
    ...OPERATE,
    'token.read',
    'token.write',
    'webhook.read',
    'webhook.write',
    'audit.read',
    'group.read',
    'group.write',
  ],
  clusterAdmin: ACTIONS,
};

/** Whether the role allows it at all; whose project it is, is another question. */
export function allows(role: Role, action: Action): boolean {
  return ROLE_ACTIONS[role].includes(action);
}

/** FORBIDDEN unless the role, which is one in the project, allows the action. */
export function requireAction(role: Role, action: Action, project?: AskedProject): void {
  if (allows(role, action)) return;
  const able = ROLES.filter((other) => allows(other, action));
  const message = `role ${role} does not allow ${action}; it takes role ${able.join(' or ')}`;
  throw new AccessDenied('FORBIDDEN', message, { action, project });
}
