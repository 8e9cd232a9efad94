import { type Grant, rightsOf } from './grants.ts';

const in_ = (name: string, role: Grant['role']): Grant => ({ id: `id-${name}`, name, role });

describe('rights', () => {
  it.each<[string, readonly Grant[], object]>([
    ['of no grants are none', [], { isClusterAdmin: false, memberships: [] }],
    [
      'are the highest role in each project, whatever the order',
      [in_('b', 'submitter'), in_('a', 'admin'), in_('b', 'operator'), in_('a', 'viewer'), in_('b', 'viewer')],
      { isClusterAdmin: false, memberships: [in_('a', 'admin'), in_('b', 'operator')] },
    ],
    [
      'in the cluster are those of an administrator',
      [{ id: null, name: null, role: 'clusterAdmin' }],
      { isClusterAdmin: true, memberships: [] },
    ],
    [
      'in the cluster are never had by a grant in a project',
      [in_('a', 'clusterAdmin')],
      { isClusterAdmin: false, memberships: [] },
    ],
    [
      'in a project are never had by a grant of none',
      [{ id: null, name: null, role: 'operator' }],
      { isClusterAdmin: false, memberships: [] },
    ],
  ])('%s', (_sentence, grants, want) => {
    expect(rightsOf(grants)).toEqual(want);
  });
});
