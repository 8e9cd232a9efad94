import { Rendezvous } from './rendezvous.ts';

describe('the rendezvous', () => {
  const gang = { jobUid: 'job-1', epoch: 3 };
  const member = (
    podIndex: number,
  ): {
    podIndex: number;
    heard: string[];
    send: (address: string) => void;
    refuse: () => void;
    replace: () => void;
  } => {
    const heard: string[] = [];
    return {
      podIndex,
      heard,
      send: (address) => void heard.push(address),
      refuse: () => undefined,
      replace: () => undefined,
    };
  };

  it('tells those who wait, those who come later, and nobody twice or of another epoch', () => {
    const rendezvous = new Rendezvous();
    const [first, early, late, other] = [member(0), member(1), member(2), member(1)];
    rendezvous.join(gang, first);
    rendezvous.join(gang, early);
    rendezvous.join({ ...gang, epoch: 4 }, other);
    rendezvous.announce(gang, 'a:1');
    rendezvous.announce(gang, 'a:1');
    rendezvous.join(gang, late);
    expect([first.heard, early.heard, late.heard, other.heard]).toEqual([[], ['a:1'], ['a:1'], []]);
  });

  it('keeps nothing of a gang that has left', () => {
    const rendezvous = new Rendezvous();
    const leave = rendezvous.join(gang, member(0));
    rendezvous.announce(gang, 'a:1');
    leave();
    expect(rendezvous.size).toBe(0);
  });
});
