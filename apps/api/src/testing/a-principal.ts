import type { Membership, Principal } from '../auth/principal.ts';

/** An operator of the project `research`. */
export function aPrincipal(overrides: Partial<Principal> = {}): Principal {
  return {
    id: '3f1c2b9e-0000-4000-8000-000000000001',
    kind: 'service',
    name: 'ada',
    isClusterAdmin: false,
    memberships: [aMembership()],
    ...overrides,
  };
}

export function aMembership(overrides: Partial<Membership> = {}): Membership {
  return { id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research', role: 'operator', ...overrides };
}

export function anAdministrator(overrides: Partial<Principal> = {}): Principal {
  return aPrincipal({ name: 'root', isClusterAdmin: true, memberships: [], ...overrides });
}
