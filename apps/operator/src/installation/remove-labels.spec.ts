import { PUBLISHED_LABELS } from '@coxswain/api-types';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { nodesPath } from '../cluster/paths.ts';
import { removeLabels } from './remove-labels.ts';

const { island, switchTierPrefix } = PUBLISHED_LABELS;

async function aCluster(labelsOf: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<FakeKubeApi> {
  const api = new FakeKubeApi();
  for (const [name, labels] of Object.entries(labelsOf))
    await api.create(nodesPath(), { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  return api;
}

describe('after an uninstall', () => {
  it('nodes carry no label of ours, and all that others wrote', async () => {
    const api = await aCluster({
      a: { [island]: 'ib', [`${switchTierPrefix}0`]: 'l1', rack: 'r1' },
      b: { rack: 'r2', 'topology.coxswain.dev/theirs': 'x' },
    });
    expect(await removeLabels({ client: api })).toBe(1);
    const labels = api.objects<KubeObject>(nodesPath()).map(({ metadata }) => metadata.labels);
    expect(labels).toEqual([{ rack: 'r1' }, { rack: 'r2', 'topology.coxswain.dev/theirs': 'x' }]);
    expect(await removeLabels({ client: api })).toBe(0);
  });

  it('nothing is done where nodes may not be read: then no label was written', async () => {
    const api = await aCluster({ a: { [island]: 'ib' } });
    api.interfere = ({ verb }) => {
      if (verb === 'list') throw new KubeApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    };
    const before = api.writes.length;
    expect(await removeLabels({ client: api })).toBe(0);
    expect(api.writes).toHaveLength(before);
  });
});
