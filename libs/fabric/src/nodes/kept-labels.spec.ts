import { factsOfNode } from './kube-objects.ts';
import { areSameFacts, selectedKeys, withBoundedLabels, withFabricLabels } from './kept-labels.ts';

type Labels = Readonly<Record<string, string>>;
const factsOf = (labels: Labels) => factsOfNode({ metadata: { name: 'n', labels } });
const PLACE = {
  'nvidia.com/gpu.clique': 'u.1',
  'fabric.topograph.run/tier-0': 'l',
  'fabric.coxswain.dev/nic-count': '8',
  'topology.kubernetes.io/zone': 'z',
};

describe('of the labels of a node', () => {
  it('all are kept where there are not too many', () => {
    const labels = { 'example.com/rack': 'r1', 'nvidia.com/gpu.clique': 'u.1' };
    expect(withBoundedLabels(factsOf(labels)).labels).toEqual(labels);
  });

  it('of a hundred thousand few are kept, and those that say where it sits are among them', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => [`example.com/l${index}`, 'v'.repeat(63)]);
    const kept = withBoundedLabels(factsOf({ ...(Object.fromEntries(many) as Labels), ...PLACE })).labels;
    expect(kept).toMatchObject(PLACE);
    expect(JSON.stringify(kept).length).toBeLessThan(200_000);
  });

  it('only those that say where it sits are kept for a picture, and those that overrides choose nodes by', () => {
    const keys = selectedKeys([{ nodeSelector: { 'example.com/rack': 'r1' } }, { nodes: ['n'] }]);
    const facts = factsOf({ ...PLACE, 'example.com/rack': 'r2', 'example.com/owner': 'me' });
    expect(withFabricLabels(facts, keys).labels).toEqual({ ...PLACE, 'example.com/rack': 'r2' });
    expect(withFabricLabels(facts, new Set()).labels).toEqual(PLACE);
  });
});

it('two looks at a node are the same where no fact differs', () => {
  expect(areSameFacts(factsOf(PLACE), factsOf({ ...PLACE }))).toBe(true);
  expect(areSameFacts(factsOf(PLACE), factsOf({}))).toBe(false);
});
