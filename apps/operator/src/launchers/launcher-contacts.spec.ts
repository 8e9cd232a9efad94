import { LauncherContacts } from './launcher-contacts.ts';

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
});
