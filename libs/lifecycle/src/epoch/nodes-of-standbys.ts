/** On which nodes are the standbys of an attempt, and which nodes hold its ranks? */
import { type EffectiveSpec, type ObjectReference, type PlacementSpec, ranksOfPod } from '@coxswain/api-types';
import { fewerStandbys, type PlacedGang, standbyNodes } from '@coxswain/fabric';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Nodes of the standbys that the job asks for, as many as are free. A gang with fewer is worth more than one that waits. */
export function nodesOfStandbys(
  { avoidedNodes }: JobRecord,
  facts: Facts,
  { spec, gang }: { readonly spec: EffectiveSpec; readonly gang: PlacedGang },
): ReturnType<typeof standbyNodes> {
  const { layout, standby: count = 0 } = spec;
  const claim = claimOfOneNode(facts);
  // Pods on several nodes could not run with such a claim at all, unless its storage lets more nodes mount it than it says.
  if (count > 0 && claim !== undefined && new Set(gang.nodes).size === 1)
    return fewerStandbys(0, count, withoutOtherNodes(claim));
  const avoided = new Set(avoidedNodes.map(({ node }) => node));
  return count === 0 ? { nodes: [] } : standbyNodes({ layout, gang, count, avoided }, facts.capacity());
}

function claimOfOneNode({ observed: { references } }: Facts): ObjectReference | undefined {
  return references === undefined || references === 'unread' ? undefined : references.ofOneNode[0];
}

function withoutOtherNodes({ name, field }: ObjectReference): string {
  return `one node alone can mount the claim ${name} (${field}); use a claim with the access mode ReadWriteMany`;
}

/** Why an attempt on nodes that others left has no standbys, in a sentence; empty if the job wants none. */
export function standbysOnClaim({ standby = 0 }: Pick<EffectiveSpec, 'standby'>): string {
  return standby === 0 ? '' : fewerStandbys(0, standby, 'other jobs made room for the gang alone').why;
}

/** The nodes that hold ranks, in the order of ranks: standbys may have taken places, and others were not needed. */
export function nodesByRank(placement: PlacementSpec): readonly string[] {
  const held = placement.nodes.flatMap((node, podIndex) => {
    const [first] = ranksOfPod(placement, podIndex);
    return first === undefined ? [] : [{ node, first }];
  });
  return held.toSorted((one, other) => one.first - other.first).map(({ node }) => node);
}
