import { CLUSTER_RULES } from './permissions.ts';

describe('the API', () => {
  it('has no right to any Secret', () => {
    const resources = CLUSTER_RULES.flatMap((rule) => rule.resources);
    expect(resources.filter((one) => one === '*' || one.startsWith('secrets'))).toEqual([]);
  });
});
