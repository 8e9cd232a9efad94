import { seatedPlacement } from '@coxswain/api-types';
import { anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { LauncherContacts, runningGangOf } from './launcher-contacts.ts';

describe('when a launcher was last heard', () => {
  const from = (podUid: string, epoch = 1) => ({ jobUid: 'job', epoch, podUid });

  it('is told for each pod of the job', () => {
    const contacts = new LauncherContacts();
    contacts.record(from('a'), 1_000);
    contacts.record(from('b'), 2_000);
    contacts.record(from('a'), 5_000);
    expect(contacts.ofJob('job', 6_000)).toEqual(
      new Map([
        ['a', 1_000],
        ['b', 4_000],
      ]),
    );
    expect(contacts.ofJob('other', 6_000)).toEqual(new Map());
  });

  it('is kept for the newest epoch alone, whoever still speaks of an earlier one', () => {
    const contacts = new LauncherContacts();
    contacts.record(from('old', 1), 0);
    contacts.record(from('new', 2), 0);
    contacts.record(from('old', 1), 0);
    expect([...contacts.ofJob('job', 0).keys()]).toEqual(['new']);
  });

  it('is forgotten with the job', () => {
    const contacts = new LauncherContacts();
    contacts.record(from('a'), 0);
    contacts.forget('job');
    expect(contacts.size).toBe(0);
  });
});

describe('how many launchers are heard', () => {
  it('counts those of running gangs that have reported, and those of them that are silent', () => {
    const contacts = new LauncherContacts();
    for (const jobUid of ['a', 'b', 'ended']) {
      for (const podUid of ['0', '1']) contacts.record({ jobUid, epoch: 1, podUid }, podUid === '0' ? 0 : 60_000);
    }
    contacts.record({ jobUid: 'b', epoch: 1, podUid: '0' }, 60_000);
    const gangOf = (jobUid: string) =>
      jobUid === 'ended' ? undefined : { namespace: 'team', nodes: [`${jobUid}-0`, `${jobUid}-1`] };
    const heardNodes = new Map([['team', new Set(['b-0', 'b-1'])]]);
    expect(contacts.hearing(61_000, gangOf)).toEqual({ launchers: 4, silent: 1, silentGangs: 1, heardNodes });
    const none = { launchers: 4, silent: 4, silentGangs: 2, heardNodes: new Map() };
    expect(contacts.hearing(90_001, gangOf)).toEqual(none);
  });

  it('counts pods that hold ranks alone: neither one that lost them to a standby, nor a standby that ended', () => {
    const contacts = new LauncherContacts();
    const jobs = ['a', 'b', 'c'];
    for (const jobUid of jobs) {
      // Pods 0 and 2 hold ranks. Pod 1 lost its ranks to the standby 2, and the standby 3 was drained.
      for (const podIndex of [0, 1, 2, 3])
        contacts.record({ jobUid, epoch: 1, podUid: `${jobUid}${podIndex}` }, [0, 2].includes(podIndex) ? 60_000 : 0);
    }
    const gangOf = (jobUid: string) => runningGangOf(aGang(jobUid));
    const heard = contacts.hearing(61_000, gangOf);
    const heardNodes = new Map([['team', new Set(jobs.flatMap((jobUid) => [`${jobUid}-n0`, `${jobUid}-n2`]))]]);
    expect(heard).toEqual({ launchers: 6, silent: 0, silentGangs: 0, heardNodes });
    expect(contacts.hearing(90_001, gangOf)).toMatchObject({ launchers: 6, silent: 6, silentGangs: 3 });
    const before = new LauncherContacts();
    before.record({ jobUid: 'a', epoch: 1, podUid: 'a0' }, 60_000);
    before.record({ jobUid: 'a', epoch: 1, podUid: 'a3' }, 60_000);
    // One pod with ranks has not reported yet, so its nodes are not heard, however many standbys are.
    expect(before.hearing(61_000, gangOf)).toMatchObject({ launchers: 1, heardNodes: new Map() });
  });
});

/** A gang of two pods and two standbys, after the first standby took the ranks of pod 1. The pods 1 and 3 were deleted. */
function aGang(jobUid: string): Parameters<typeof runningGangOf>[0] {
  const job = aTrainingJob({ metadata: { uid: jobUid, namespace: 'team' } });
  const nodes = [0, 1, 2, 3].map((podIndex) => `${jobUid}-n${podIndex}`);
  const placement = aPlacement(job, { nodes, ranks: ['0-1', '2-3', '', ''] }).spec;
  const attempt = anAttempt({ standbys: 2, replacements: [{ podIndex: 1, standby: 2, incarnation: 2 }] });
  const podUidOf = (podIndex: number) => ([0, 2].includes(podIndex) ? `${jobUid}${podIndex}` : undefined);
  return { job, attempt, placement: seatedPlacement(placement, attempt), podUidOf };
}
