import { createHash } from 'node:crypto';
import { labelValueProblem, PUBLISHED_LABELS } from '@coxswain/api-types';
import fc from 'fast-check';
import type { FabricNode } from './fabric.ts';
import { factsOfNode } from './kube-objects.ts';
import { labelChange, type Labels, publishedLabels, publishedOf } from './published-labels.ts';
import { aFabricNode } from '../testing/index.ts';
import { fabricOf, topograph } from '../testing/labelled-nodes.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const published = (node: Partial<FabricNode>): Labels => publishedLabels(aFabricNode(node), digest);
const { island, nvlinkDomain, nicType, switchTierPrefix: tier } = PUBLISHED_LABELS;

describe('what is published of a node', () => {
  it.each<[string, Partial<FabricNode>, Labels]>([
    ['is its island, and nothing of a domain that it is alone', { island: 'ib-1' }, { [island]: 'ib-1' }],
    [
      'is what it is in, by the own names of places and a part of their digest',
      {
        island: 'fabric.topograph.run/tier-2=core-0',
        nvlinkDomain: 'nvidia.com/gpu.clique=u.1',
        switches: ['topograph:tier-1=s1/tier-0=l1', 'topograph:tier-1=s1'],
        nicType: 'infiniband',
      },
      {
        [island]: `core-0.${digest('fabric.topograph.run/tier-2=core-0').slice(0, 10)}`,
        [nvlinkDomain]: `u.1.${digest('nvidia.com/gpu.clique=u.1').slice(0, 10)}`,
        [`${tier}0`]: `l1.${digest('topograph:tier-1=s1/tier-0=l1').slice(0, 10)}`,
        [`${tier}1`]: `s1.${digest('topograph:tier-1=s1').slice(0, 10)}`,
        [nicType]: 'infiniband',
      },
    ],
    [
      'is no switch that nobody names',
      { switches: ['s/?tier-1=l/?node:n1', 's/?tier-1=l', 's'] },
      { [island]: 'ib', [`${tier}2`]: 's' },
    ],
    [
      'is never what somebody named like a digest of ours',
      { island: 'core-0.0123456789' },
      { [island]: `core-0.0123456789.${digest('core-0.0123456789').slice(0, 10)}` },
    ],
    [
      'is a name cut where it is too long',
      { island: `${'a'.repeat(80)}=${'b'.repeat(80)}` },
      {
        [island]: `${'b'.repeat(52)}.${digest(`${'a'.repeat(80)}=${'b'.repeat(80)}`).slice(0, 10)}`,
      },
    ],
  ])('%s', (_sentence, node, want) => {
    expect(published(node)).toEqual(want);
  });

  it('is legal and bounded whatever places are called, and the same exactly for the same place', () => {
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 90 }),
      fc.constantFrom('a', 'a-b', 'a/b=c', 'a=c', '-', '?x', 'é'),
    );
    fc.assert(
      fc.property(name, name, fc.array(name, { maxLength: 14 }), (one, other, switches) => {
        const [here, there] = [published({ island: one, switches }), published({ island: other })];
        expect(Object.values(here).every((value) => value !== '' && labelValueProblem(value) === undefined)).toBe(true);
        expect(Object.keys(here).length).toBeLessThanOrEqual(13);
        expect(here[island] === there[island]).toBe(one === other);
      }),
    );
  });

  it('is read by nobody: what a node says with it is what it says without', () => {
    const labels = topograph('l1', 's1');
    const [node] = fabricOf(labels);
    if (node === undefined) throw new Error('there is one');
    const lies = publishedLabels({ ...node, island: 'elsewhere', nvlinkDomain: 'rack-9' }, digest);
    const withLies = { metadata: { name: 'n1', labels: { ...labels, ...lies } } };
    expect(factsOfNode(withLies)).toEqual(factsOfNode({ metadata: { name: 'n1', labels } }));
    expect(publishedOf(withLies.metadata.labels)).toEqual(lies);
  });
});

describe('what is changed of the labels of a node', () => {
  it.each<[string, Labels, Labels, ReturnType<typeof labelChange>]>([
    [
      'is nothing where they are as wanted, whatever others wrote',
      { [island]: 'a', other: 'x' },
      { [island]: 'a' },
      undefined,
    ],
    [
      'is what is missing and what is wrong',
      { [island]: 'a' },
      { [island]: 'b', [nicType]: 'roce' },
      { [island]: 'b', [nicType]: 'roce' },
    ],
    ['is what goes', { [island]: 'a', [`${tier}9`]: 'x' }, {}, { [island]: null, [`${tier}9`]: null }],
    ['is never a label of somebody else', { 'topology.coxswain.dev/mine': 'x', [`${tier}10`]: 'x' }, {}, undefined],
  ])('%s', (_sentence, there, wanted, want) => {
    expect(labelChange(there, wanted)).toEqual(want);
  });
});
