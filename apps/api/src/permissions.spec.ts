import { CLUSTER_RULES, CLUSTER_SCOPED_RULES, JOB_NAMESPACE_RULES } from './permissions.ts';

describe('the API', () => {
  it('has no right to any Secret', () => {
    const resources = CLUSTER_RULES.flatMap((rule) => rule.resources);
    expect(resources.filter((one) => one === '*' || one.startsWith('secrets'))).toEqual([]);
  });

  it('only reads what belongs to no namespace', () => {
    const verbs = new Set(CLUSTER_SCOPED_RULES.flatMap((rule) => rule.verbs));
    expect([...verbs].sort()).toEqual(['get', 'list', 'watch']);
  });

  it.each(['pods', 'pods/log', 'trainingjobs', 'checkpoints', 'placements'])(
    'has no right to %s in the whole cluster if it is confined to namespaces',
    (resource) => {
      const resourcesOf = (rules: typeof CLUSTER_RULES): readonly string[] => rules.flatMap((rule) => rule.resources);
      expect(resourcesOf(CLUSTER_SCOPED_RULES)).not.toContain(resource);
      expect(resourcesOf(JOB_NAMESPACE_RULES)).toContain(resource);
    },
  );
});
