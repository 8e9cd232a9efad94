import type { OperatorMessage } from '@coxswain/api-types';
import { Rendezvous, type RendezvousMember } from './rendezvous.ts';

const gang = { jobUid: 'job-1', epoch: 3, incarnation: 1 };
const of = (address: string, incarnation?: number): OperatorMessage => ({
  kind: 'rendezvous',
  address,
  ...(incarnation === undefined ? {} : { incarnation }),
});

function member(podIndex: number): RendezvousMember & { readonly received: OperatorMessage[] } {
  const received: OperatorMessage[] = [];
  const send = (message: OperatorMessage): void => void received.push(message);
  return { podIndex, podUid: `pod-${podIndex}`, received, send, refuse: () => undefined, replace: () => undefined };
}

describe('the rendezvous', () => {
  it('tells those who wait, those who come later, and nobody twice or of another epoch', () => {
    const rendezvous = new Rendezvous();
    const [early, late, other] = [member(1), member(2), member(1)];
    rendezvous.join(gang, early);
    rendezvous.join({ ...gang, epoch: 4 }, other);
    rendezvous.announce(gang, 'a:1');
    rendezvous.announce(gang, 'a:1');
    rendezvous.join(gang, late);
    expect([early.received, late.received, other.received]).toEqual([[of('a:1')], [of('a:1')], []]);
  });

  it('says which incarnation meets there, and forgets where an earlier one met', () => {
    const rendezvous = new Rendezvous();
    const [early, late] = [member(1), member(2)];
    rendezvous.join(gang, early);
    rendezvous.announce(gang, 'a:1');
    rendezvous.announce({ ...gang, incarnation: 2 }, 'a:2');
    rendezvous.announce(gang, 'a:1');
    rendezvous.join(gang, late);
    expect([early.received, late.received]).toEqual([[of('a:1'), of('a:2', 2)], [of('a:2', 2)]]);
  });

  it('passes on what one launcher alone is to be told', () => {
    const rendezvous = new Rendezvous();
    const [one, other] = [member(0), member(1)];
    rendezvous.join(gang, one);
    rendezvous.join(gang, other);
    const order = { kind: 'endRanks', epoch: 3, incarnation: 1, message: 'over' } as const;
    rendezvous.send({ ...gang, podUid: 'pod-1' }, order);
    rendezvous.send({ ...gang, podUid: 'pod-9' }, order);
    expect([one.received, other.received]).toEqual([[], [order]]);
  });

  it('keeps nothing of a gang that has left', () => {
    const rendezvous = new Rendezvous();
    const leave = rendezvous.join(gang, member(0));
    rendezvous.announce(gang, 'a:1');
    leave();
    expect(rendezvous.size).toBe(0);
  });
});
