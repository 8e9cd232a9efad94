import { type Facts, factsOf } from '../observation/facts.ts';
import { freeGpus, roomElsewhere } from '../observation/room.ts';
import { ruleOnMove } from './leaving-nodes.ts';
import type { EndProposal } from '../arbiter/judge-ends.ts';
import { aCapacity, aNode, aPlacement, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW } from '../testing/jobs.ts';

/** A gang of two pods with eight GPUs each on node-a and node-b. Three other nodes have 8, 7 and 20 free GPUs, and one has lost half of its GPUs. */
function aGang(ruleOnEnd?: (proposal: EndProposal) => { readonly kind: 'granted'; readonly blames: true }): Facts {
  const job = aJob({ status: aStatus() });
  const placements = [aPlacement(job, { worldSize: 16, ranksPerPod: 8 })];
  const nodes = [8, 8, 16, 8, 20, 4].map((gpuCapacity, at) =>
    aNode({ name: `node-${'abcdef'[at] ?? ''}`, gpuCapacity }),
  );
  const used = { 'node-a': 8, 'node-b': 8, 'node-c': 8, 'node-d': 1, 'node-f': 8 };
  const rule = ruleOnEnd === undefined ? {} : { ruleOnEnd };
  return factsOf(observe({ job, placements, capacity: () => aCapacity(nodes, used), ...rule }));
}

describe('room elsewhere', () => {
  it('is counted in GPUs, of whole places', () => {
    const facts = aGang();
    expect(roomElsewhere(facts, anAttempt(), ['node-a', 'node-b'])).toEqual({ neededGpus: 16, freeGpus: 24 });
    expect(roomElsewhere(facts, anAttempt(), ['node-a'])).toEqual({ neededGpus: 8, freeGpus: 24 });
    expect(freeGpus(facts, 1, [])).toBe(35);
  });

  it('is asked for once in an observation, however many rules ask', () => {
    const asked: EndProposal[] = [];
    const facts = aGang((proposal) => {
      asked.push(proposal);
      return { kind: 'granted', blames: true };
    });
    const move = { attempt: anAttempt(), nodes: ['node-a'], now: NOW };
    const rulings = [ruleOnMove(facts, move), ruleOnMove(facts, { ...move, nodes: ['node-a'] })];
    expect(rulings[0]).toBe(rulings[1]);
    expect(asked.map(({ room }) => room)).toEqual([{ neededGpus: 8, freeGpus: 24 }]);
  });
});
