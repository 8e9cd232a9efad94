/** More than 400 lines: one session with one set of stand-ins, of which each sentence says what it does with a message. */
import type { LauncherMessage, OperatorMessage, SavedCheckpoint } from '@coxswain/api-types';
import { MessageDeduplicator } from './message-deduplicator.ts';
import { ProgressTracker } from './progress-tracker.ts';
import { Rendezvous } from './rendezvous.ts';
import { ReportSession } from './report-session.ts';
import type { ReportingPod, ReportPorts, SessionConnection, SessionContext, SessionCount } from './session-ports.ts';
import { SeriesRing } from './series-ring.ts';
import { WaitingLaunchers } from './waiting-launchers.ts';

const pod: ReportingPod = {
  namespace: 'research',
  jobName: 'tiny',
  jobUid: 'job-1',
  epoch: 3,
  podIndex: 0,
  ranks: [0, 1],
  totalSteps: 100,
};
const saved = {
  step: 20,
  directory: 'step-20',
  format: 'torch_dcp',
  bytes: 1,
  files: 1,
  manifestSha256: 'c'.repeat(64),
};

interface Setup {
  readonly session: ReportSession;
  readonly sent: OperatorMessage[];
  readonly counts: SessionCount[];
  readonly context: SessionContext;
  readonly world: {
    epoch: number | undefined;
    isFenced: boolean;
    incarnation: number;
    isLeader: boolean;
    isKnown: boolean;
    leaderUrl: string | undefined;
    checkpoints: ((saved: SavedCheckpoint) => 'recorded' | 'stale')[];
  };
  receive(message: { readonly kind: LauncherMessage['kind'] } & Record<string, unknown>): Promise<void>;
  codes(): readonly string[];
}

/** A session whose cluster is a few fields, and whose token belongs to `pod-1`. */
function aSetup(shared: Partial<SessionContext> = {}, connection: Partial<SessionConnection> = {}): Setup {
  const sent: OperatorMessage[] = [];
  const counts: SessionCount[] = [];
  const world: Setup['world'] = {
    epoch: 3,
    isFenced: false,
    incarnation: 1,
    isLeader: true,
    isKnown: true,
    leaderUrl: 'https://leader:9443',
    checkpoints: [],
  };
  const ports: ReportPorts = {
    leadership: () =>
      world.isLeader
        ? { leading: true, term: 7 }
        : { leading: false, ...(world.leaderUrl === undefined ? {} : { leaderUrl: world.leaderUrl }) },
    findPod: async () => pod,
    isKnownPod: async () => world.isKnown,
    currentEpoch: () => world.epoch,
    isFenced: () => world.isFenced,
    currentIncarnation: () => world.incarnation,
    recordCheckpoint: async (_pod, checkpoint) => world.checkpoints.shift()?.(checkpoint) ?? 'recorded',
    onNews: () => undefined,
  };
  const context: SessionContext = {
    ports,
    authenticator: {
      authenticate: async () => ({
        kind: 'authenticated',
        identity: { username: 'u', namespace: 'research', pod: { name: 'p', uid: 'pod-1' } },
      }),
    },
    rendezvous: new Rendezvous(),
    waiting: new WaitingLaunchers(),
    progress: new ProgressTracker(),
    health: { heartbeat: () => undefined, step: () => undefined, finished: () => undefined },
    recordContact: () => undefined,
    recordLauncher: () => undefined,
    recordPreflight: () => undefined,
    recordTrained: () => undefined,
    recordStacks: () => undefined,
    series: new SeriesRing({ bootId: 'operator' }),
    deduplicator: new MessageDeduplicator(),
    now: () => new Date('2026-01-01T00:00:00Z'),
    sleep: async () => undefined,
    count: (what) => void counts.push(what),
    ...shared,
  };
  const session = new ReportSession(context, {
    token: 'token',
    ...connection,
    link: { send: (message) => void sent.push(message), close: () => undefined },
  });
  let sequence = 0;
  return {
    session,
    sent: sent,
    counts,
    context,
    world,
    receive: (message) => {
      sequence += 1;
      const hello = { jobUid: 'job-1', bootId: 'boot', podIndex: 0, launcherVersion: '1' };
      const envelope = { podUid: 'pod-1', epoch: 3, sequence, rendezvous: null };
      return session.receive(JSON.stringify({ ...envelope, ...(message.kind === 'hello' ? hello : {}), ...message }));
    },
    codes: () => sent.flatMap((message) => (message.kind === 'refused' ? [message.code] : [])),
  };
}

const aStep = (step: number, more: Record<string, unknown> = {}) =>
  ({
    kind: 'step',
    report: {
      step,
      loss: 2,
      tokens: 100,
      learningRate: null,
      gradNorm: null,
      ranks: [{ rank: 0, stepTimeMs: 50, timingsMs: {} }],
      ...more,
    },
  }) as const;

describe('a report session', () => {
  it('welcomes a pod that is who it says, and acknowledges', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    expect(setup.sent).toEqual([
      { kind: 'welcome', leaderTerm: 7 },
      {
        kind: 'listensTo',
        parts: [
          'watermarks',
          'notFinite',
          'stop',
          'processes',
          'collectives',
          'contents',
          'progress',
          'backgroundSaves',
          'brokenSaves',
          'marks',
          'memorySaves',
        ],
      },
      { kind: 'ack', sequence: 1 },
    ]);
  });

  it.each([
    ['another pod UID than its token’s', { podUid: 'pod-2' }],
    ['another job', { jobUid: 'job-2' }],
    ['another epoch', { epoch: 2 }],
    ['another index', { podIndex: 1 }],
  ])('refuses a hello that claims %s', async (_what, claim) => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello', ...claim });
    expect(setup.codes()).toEqual(['unauthenticated']);
  });

  it('asks to come again when the token cannot be checked, and not to be someone else', async () => {
    const setup = aSetup({ authenticator: { authenticate: async () => ({ kind: 'unavailable' }) } });
    await setup.receive({ kind: 'hello' });
    expect(setup.codes()).toEqual(['notReady']);
  });

  it('lets a pod have one connection: the newer one closes the older', async () => {
    const older = aSetup();
    await older.receive({ kind: 'hello' });
    const newer = aSetup(older.context);
    await newer.receive({ kind: 'hello' });
    expect([older.codes(), newer.codes()]).toEqual([['notReady'], []]);
  });

  it('refuses an epoch that was replaced while the pod was connected', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    setup.world.epoch = 4;
    await setup.receive({ kind: 'heartbeat', ranks: [] });
    expect(setup.codes()).toEqual(['staleEpoch']);
  });

  it.each([
    ['at its next message', { kind: 'heartbeat', ranks: [] }],
    ['with a checkpoint, which is not recorded', { kind: 'checkpointSaved', checkpoint: saved }],
  ] as const)('refuses an epoch that has failed, %s', async (_what, message) => {
    const setup = aSetup();
    setup.world.checkpoints = [
      () => {
        throw new Error('nothing is to be recorded');
      },
    ];
    await setup.receive({ kind: 'hello' });
    setup.world.isFenced = true;
    await setup.receive(message);
    expect(setup.codes()).toEqual(['staleEpoch']);
    expect(setup.world.checkpoints).toHaveLength(1);
  });

  it('notes each word of a launcher whose epoch is under way, and none of another', async () => {
    const received: unknown[] = [];
    const setup = aSetup({ recordContact: (one) => void received.push(one) });
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'heartbeat', ranks: [] });
    setup.world.isFenced = true;
    await setup.receive({ kind: 'heartbeat', ranks: [] });
    expect(received).toEqual(Array.from({ length: 2 }, () => ({ jobUid: 'job-1', epoch: 3, podUid: 'pod-1' })));
  });

  it('refuses a launcher that comes (back) after its epoch has failed', async () => {
    const setup = aSetup();
    setup.world.isFenced = true;
    await setup.receive({ kind: 'hello' });
    expect(setup.sent).toEqual([{ kind: 'refused', code: 'staleEpoch', message: 'attempt 3 is over' }]);
  });

  it('is sent away when its epoch ends, and those of another epoch or job are not', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    setup.context.rendezvous.refuse({ jobUid: 'job-1', epoch: 2 }, 'over');
    setup.context.rendezvous.refuse({ jobUid: 'job-2', epoch: 3 }, 'over');
    expect(setup.codes()).toEqual([]);
    setup.context.rendezvous.refuse({ jobUid: 'job-1', epoch: 3 }, 'over');
    expect(setup.codes()).toEqual(['staleEpoch']);
    expect(setup.context.rendezvous.size).toBe(0);
  });

  it('does not call an epoch stale that this replica has not seen yet', async () => {
    const setup = aSetup();
    setup.world.epoch = 2;
    await setup.receive({ kind: 'hello' });
    expect(setup.codes()).toEqual(['notReady']);
  });

  it.each([
    ['nobody leads', undefined, undefined],
    ['the leader that is known is one that the launcher has lost', 'https://leader:9443', 'https://leader:9443'],
  ])(
    'lets a launcher wait while %s, and welcomes it as soon as this replica leads',
    async (_what, leaderUrl, unreachable) => {
      const turns: (() => void)[] = [];
      const setup = aSetup({ sleep: () => new Promise((resolve) => turns.push(resolve)) }, { unreachable });
      setup.world.isLeader = false;
      setup.world.leaderUrl = leaderUrl;
      expect(setup.session.start()).toBe(true);
      await setup.receive({ kind: 'hello' });
      expect(setup.sent).toEqual([]);
      setup.world.isLeader = true;
      for (const turn of turns) turn();
      await settled();
      expect(setup.sent.map(({ kind }) => kind)).toEqual(['welcome', 'listensTo', 'ack']);
    },
  );

  it.each([
    ['of a pod that the cluster here does not show', false, 10],
    ['when too many wait already', true, 0],
  ])('lets no launcher wait %s, and keeps it in its place of a stranger', async (_what, isKnown, most) => {
    let identified = 0;
    const setup = aSetup({ waiting: new WaitingLaunchers(most) }, { onIdentified: () => (identified += 1) });
    Object.assign(setup.world, { isLeader: false, leaderUrl: undefined, isKnown });
    await setup.receive({ kind: 'hello' });
    expect([setup.codes(), identified]).toEqual([['notReady'], 0]);
  });

  it('lets one connection of a pod wait: the newer one closes the older, and its place is free when it is welcome', async () => {
    const turns: (() => void)[] = [];
    const waiting = new WaitingLaunchers();
    const shared = { waiting, sleep: () => new Promise<void>((resolve) => turns.push(resolve)) };
    const [older, newer] = [aSetup(shared), aSetup(shared)];
    for (const setup of [older, newer]) {
      Object.assign(setup.world, { isLeader: false, leaderUrl: undefined });
      await setup.receive({ kind: 'hello' });
    }
    expect([older.codes(), newer.sent, waiting.size]).toEqual([['notReady'], [], 1]);
    newer.world.isLeader = true;
    for (const turn of turns) turn();
    await settled();
    expect([newer.sent.map(({ kind }) => kind), waiting.size]).toEqual([['welcome', 'listensTo', 'ack'], 0]);
  });

  it('frees the place of a launcher that goes while it waits', async () => {
    const waiting = new WaitingLaunchers();
    const setup = aSetup({ waiting, sleep: () => new Promise(() => undefined) });
    Object.assign(setup.world, { isLeader: false, leaderUrl: undefined });
    await setup.receive({ kind: 'hello' });
    setup.session.end();
    expect(waiting.size).toBe(0);
  });

  it('is a stranger until its pod is known, not only its token', async () => {
    let identified = 0;
    const setup = aSetup({}, { onIdentified: () => (identified += 1) });
    const found = Promise.withResolvers<ReportingPod | 'unknown'>();
    setup.context.ports.findPod = () => found.promise;
    const sent = setup.receive({ kind: 'hello' });
    await settled();
    expect(identified).toBe(0);
    found.resolve(pod);
    await sent;
    expect(identified).toBe(1);
  });

  it('sends a launcher away that has waited for 15 s and still nobody leads', async () => {
    const setup = aSetup();
    setup.world.isLeader = false;
    setup.world.leaderUrl = undefined;
    await setup.receive({ kind: 'hello' });
    await settled();
    expect(setup.sent).toEqual([{ kind: 'refused', code: 'notLeader', message: 'another replica leads' }]);
  });

  it('names the leader when it leads no longer', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    setup.world.isLeader = false;
    await setup.receive({ kind: 'heartbeat', ranks: [] });
    expect(setup.sent.at(-1)).toMatchObject({ code: 'notLeader', leaderUrl: 'https://leader:9443' });
  });

  it.each([
    ['no JSON', '{'],
    ['an unknown kind', '{"kind":"reboot"}'],
    [
      'an unknown field',
      JSON.stringify({ kind: 'resumed', podUid: 'pod-1', epoch: 3, sequence: 2, rendezvous: null, step: 1, x: 1 }),
    ],
    [
      'a number out of bounds',
      JSON.stringify({ kind: 'resumed', podUid: 'pod-1', epoch: 3, sequence: 2, rendezvous: null, step: -1 }),
    ],
  ])('drops and counts a frame with %s, and goes on', async (_what, frame) => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    await setup.session.receive(frame);
    expect(setup.counts.filter((what) => what === 'malformed')).toHaveLength(1);
    expect(setup.codes()).toEqual([]);
  });

  it('drops what speaks of another pod’s ranks or of steps beyond the end', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    await setup.receive(aStep(5, { ranks: [{ rank: 2, stepTimeMs: 1, timingsMs: {} }] }));
    await setup.receive(aStep(1_000_000));
    expect(setup.context.series.newestSequence).toBe(0);
    expect(setup.context.progress.takeChanged()).toEqual([]);
  });

  it('gives a connection up at the first frame of nonsense before it has said who it is', async () => {
    const setup = aSetup();
    await setup.session.receive('nonsense');
    expect(setup.codes()).toEqual(['malformed']);
  });

  it('gives a connection up that goes on to send nonsense', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    for (let frame = 0; frame < 30; frame += 1) await setup.session.receive('nonsense');
    expect(setup.codes()).toEqual(['malformed']);
  });

  it('takes gathered steps one by one, and what was left out as a gap', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'steps', reports: [aStep(5).report, aStep(6).report], skipped: 3 });
    await setup.receive(aStep(7));
    expect(setup.context.series.newestSequence).toBe(6);
    expect(setup.counts.filter((what) => what === 'step' || what === 'step_missed')).toEqual([
      'step',
      'step',
      'step_missed',
      'step',
    ]);
  });

  it('takes the watermarks that it listens to, and counts those of ranks that the pod does not have', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    const watermark = { step: 1, phase: 'training', phaseAgeMs: 1, groups: [] } as const;
    await setup.receive({ kind: 'heartbeat', ranks: [], watermarks: [{ rank: 0, ...watermark }] });
    await setup.receive({ kind: 'heartbeat', ranks: [], watermarks: [{ rank: 4_000, ...watermark }] });
    expect(setup.counts.filter((count) => count === 'malformed')).toHaveLength(1);
  });

  it('tells a launcher its pace when it is welcome, and again when that changes', async () => {
    const setup = aSetup({}, { pace: { stepsPerSecond: 20, gatherMs: 200 } });
    await setup.receive({ kind: 'hello' });
    setup.session.setRate({ stepsPerSecond: 20, gatherMs: 200 });
    setup.session.setRate({ stepsPerSecond: 1.5, gatherMs: 2_048 });
    expect(setup.sent.filter(({ kind }) => kind === 'pace')).toEqual([
      { kind: 'pace', stepsPerSecond: 20, gatherMs: 200 },
      { kind: 'pace', stepsPerSecond: 1.5, gatherMs: 2_048 },
    ]);
  });

  it('puts each step into the series once, however often it is told', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    await setup.receive({ ...aStep(5), sequence: 2 });
    await setup.receive({ ...aStep(5), sequence: 2 });
    expect(setup.context.series.newestSequence).toBe(1);
  });

  it('acknowledges steps now and then, and everything else at once', async () => {
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const setup = aSetup({ now: () => new Date(nowMs) });
    const acknowledged = (): number => setup.sent.filter(({ kind }) => kind === 'ack').length;
    await setup.receive({ kind: 'hello' });
    for (let number = 1; number <= 50; number += 1) {
      nowMs += 100;
      await setup.receive(aStep(number));
    }
    expect([setup.context.series.newestSequence, acknowledged()]).toEqual([50, 3]);
    await setup.receive({ kind: 'heartbeat', ranks: [] });
    await setup.receive({ kind: 'resumed', step: 40 });
    expect(acknowledged()).toBe(5);
  });

  it('acknowledges a checkpoint only after it was recorded, trying again meanwhile', async () => {
    const setup = aSetup();
    const fail = (): never => {
      throw new Error('the API server is away');
    };
    setup.world.checkpoints = [fail, fail];
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'checkpointSaved', checkpoint: saved });
    expect(setup.sent.at(-1)).toEqual({ kind: 'ack', sequence: 2 });
  });

  it('lets no text of a launcher into a checkpoint that a store trips over', async () => {
    const setup = aSetup();
    const seen: SavedCheckpoint[] = [];
    setup.world.checkpoints = [
      (checkpoint) => {
        seen.push(checkpoint);
        return 'recorded';
      },
    ];
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'checkpointSaved', checkpoint: { ...saved, format: 'dcp\ud83d\u0000' } });
    expect(seen.map(({ format }) => format)).toEqual(['dcp\ufffd\ufffd']);
  });

  it('acknowledges nothing and asks to come again when the checkpoint cannot be recorded', async () => {
    const setup = aSetup();
    const fail = (): never => {
      throw new Error('the API server is away');
    };
    setup.world.checkpoints = Array.from({ length: 20 }, () => fail);
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'checkpointSaved', checkpoint: saved });
    expect(setup.codes()).toEqual(['notReady']);
    expect(setup.sent).not.toContainEqual({ kind: 'ack', sequence: 2 });
  });

  it('refuses the checkpoint of an epoch that has been replaced', async () => {
    const setup = aSetup();
    setup.world.checkpoints = [() => 'stale'];
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'checkpointSaved', checkpoint: saved });
    expect(setup.codes()).toEqual(['staleEpoch']);
  });

  it('tells what the launcher says of its ranks: at hello, when it changes, and with the cause of a failure', async () => {
    const sent: unknown[] = [];
    const setup = aSetup({
      recordLauncher: ({ state, incarnation, cause }) => void sent.push([state, incarnation, cause?.kind]),
    });
    await setup.receive({ kind: 'hello', state: 'waiting' });
    await setup.receive({ kind: 'heartbeat', ranks: [], state: 'waiting' });
    await setup.receive({ kind: 'heartbeat', ranks: [], state: 'running', incarnation: 1 });
    await setup.receive({ kind: 'heartbeat', ranks: [], state: 'running', incarnation: 1 });
    await setup.receive({ kind: 'heartbeat', ranks: [], state: 'reaped', incarnation: 1 });
    await setup.receive({ kind: 'reaped', state: 'reaped', incarnation: 1, cause });
    expect(sent).toEqual([
      ['waiting', 0, undefined],
      ['running', 1, undefined],
      ['reaped', 1, 'engineFailed'],
    ]);
  });

  it('tells which saves in memory the ranks of a pod have left, when all are gone', async () => {
    const memorySaves = [{ incarnation: 1, step: 7 }];
    const sent: unknown[] = [];
    const setup = aSetup({ recordLauncher: ({ state, memorySaves }) => void sent.push([state, memorySaves]) });
    await setup.receive({ kind: 'hello', state: 'running', incarnation: 1 });
    await setup.receive({ kind: 'reaped', state: 'reaped', incarnation: 1, memorySaves });
    expect(sent).toEqual([
      ['running', undefined],
      ['reaped', memorySaves],
    ]);
  });

  it('tells when ranks passed a mark, once for each, also with their end', async () => {
    const sent: unknown[] = [];
    const setup = aSetup({ recordLauncher: ({ state, marks }) => void sent.push([state, marks?.atMs]) });
    const runs = { state: 'running', incarnation: 1 };
    const atMs = Date.parse('2026-01-01T00:00:00Z');
    await setup.receive({ kind: 'hello', ...runs });
    await setup.receive({ kind: 'heartbeat', ranks: [], ...runs, marks: { started: 400 } });
    await setup.receive({ kind: 'heartbeat', ranks: [], ...runs, marks: { started: 900 } });
    await setup.receive({
      kind: 'reaped',
      state: 'reaped',
      incarnation: 1,
      cause,
      marks: { started: 999, failed: 20 },
    });
    expect(sent).toEqual([
      ['running', undefined],
      ['running', { started: atMs - 400 }],
      ['reaped', { started: atMs - 400, failed: atMs - 20 }],
    ]);
  });

  it('takes what is told again for no word of what the launcher does now', async () => {
    const sent: unknown[] = [];
    const setup = aSetup({ recordLauncher: ({ state, incarnation }) => void sent.push([state, incarnation]) });
    const once = { state: 'running', incarnation: 1 };
    await setup.receive({ kind: 'hello', state: 'reaped', incarnation: 1 });
    await setup.receive({ kind: 'reaped', state: 'reaped', incarnation: 1, cause });
    await setup.receive({ kind: 'checkpointSaved', checkpoint: saved, ...once });
    await setup.receive({ kind: 'resumed', step: 1, ...once });
    await setup.receive({ ...aStep(5), ...once });
    await setup.receive({ kind: 'steps', reports: [aStep(6).report], skipped: 0, ...once });
    expect(sent).toEqual([['reaped', 1]]);
  });

  it('tells nothing of a launcher that cannot start ranks again', async () => {
    const sent: unknown[] = [];
    const setup = aSetup({ recordLauncher: (word) => void sent.push(word) });
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'heartbeat', ranks: [] });
    expect(sent).toEqual([]);
  });

  it('believes nothing that an earlier incarnation did, and lets its launcher know that it was heard', async () => {
    const setup = aSetup();
    const recorded: SavedCheckpoint[] = [];
    setup.world.checkpoints = [(checkpoint) => (recorded.push(checkpoint), 'recorded')];
    await setup.receive({ kind: 'hello', state: 'running', incarnation: 1 });
    setup.world.incarnation = 2;
    await setup.receive({ ...aStep(5), incarnation: 1 });
    await setup.receive({ kind: 'checkpointSaved', checkpoint: saved, incarnation: 1 });
    expect([recorded, setup.context.series.newestSequence]).toEqual([[], 0]);
    expect(setup.sent.filter(({ kind }) => kind === 'ack')).toHaveLength(2);
    await setup.receive({ kind: 'checkpointSaved', checkpoint: saved, incarnation: 2 });
    expect(recorded).toMatchObject([{ step: 20, incarnation: 2 }]);
  });

  it('takes the word of an incarnation that another leader has begun', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello', state: 'running', incarnation: 2 });
    await setup.receive({ ...aStep(5), incarnation: 2 });
    expect(setup.context.series.newestSequence).toBe(1);
  });

  it('hands out where the pod of rank 0 listens, whichever pod that is', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello', rendezvous: 'a:1', incarnation: 2, state: 'running' });
    expect(setup.sent).toContainEqual({ kind: 'rendezvous', address: 'a:1', incarnation: 2 });
  });
});

const cause = {
  version: 1,
  kind: 'engineFailed',
  epoch: 3,
  incarnation: 1,
  node: 'n',
  message: 'rank 1 exited with code 1',
  lastLines: [],
  unreportedCheckpoints: [],
} as const;

/** Whatever waits for a promise that is settled has gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 500; turn += 1) await Promise.resolve();
}

describe('before the first rank', () => {
  const board = { kind: 'preflightBoard', address: '10.0.0.1:4000', key: 'secret' } as const;
  const report = { outcome: 'Done', facts: { torch: '2.9' }, pairs: [], tookMs: 900 };

  it('the board of rank 0’s pod is handed out, also to who comes later', async () => {
    const setup = aSetup();
    await setup.receive({ kind: 'hello' });
    await setup.receive(board);
    const later: OperatorMessage[] = [];
    const member = { podIndex: 1, podUid: 'pod-2', refuse: () => undefined, replace: () => undefined };
    setup.context.rendezvous.join(pod, { ...member, send: (message) => void later.push(message) });
    expect(later).toEqual([{ ...board, epoch: 3 }]);
    expect(setup.sent).toContainEqual({ ...board, epoch: 3 });
  });

  it.each([
    ['of a pod that has not rank 0', { ports: { findPod: async () => ({ ...pod, ranks: [2, 3] }) } }, board.address],
    ['that is no address', {}, 'somewhere'],
  ])('a board %s is not', async (_sentence, shared, address) => {
    const setup = aSetup();
    Object.assign(setup.context.ports, 'ports' in shared ? shared.ports : {});
    await setup.receive({ kind: 'hello' });
    await setup.receive({ ...board, address });
    expect(setup.counts).toContain('malformed');
    expect(setup.sent.map(({ kind }) => kind)).not.toContain('preflightBoard');
  });

  it('what a pod tells of itself is passed on as that of the pod whose token it has', async () => {
    const words: unknown[] = [];
    const setup = aSetup({ recordPreflight: (word) => void words.push(word) });
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'preflight', report });
    expect(words).toEqual([{ jobUid: 'job-1', epoch: 3, podIndex: 0, podUid: 'pod-1', report }]);
  });
});

describe('what a rank really trains', () => {
  const facts = {
    worldSize: 4,
    backend: 'gloo',
    mesh: [],
    groups: [],
    wrappers: [],
    parameterBytes: 1,
    optimizerBytes: 2,
  };

  it.each([
    ['is passed on as that of the pod whose token it has', { rank: 0, facts }, true],
    ['is not taken of a rank of another pod', { rank: 64, facts }, false],
    ['is not taken where it is absurd', { rank: 0, facts: { ...facts, worldSize: -1 } }, false],
    ['is not taken where it is too much', { rank: 0, facts: { ...facts, wrappers: Array(17).fill('a') } }, false],
  ])('%s', async (_, sent, isTaken) => {
    const words: unknown[] = [];
    const setup = aSetup({ recordTrained: (word) => void words.push(word) });
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'trained', ...sent });
    expect(words).toEqual(isTaken ? [{ jobUid: 'job-1', epoch: 3, incarnation: 1, podIndex: 0, ...sent }] : []);
    expect(setup.counts.includes('malformed')).toBe(!isTaken);
  });
});

describe('in the middle of what ranks are', () => {
  const group = { thread: 'MainThread', isMain: true, frames: ['step (train.py:1)'], ranks: '0' };
  const answer = { request: 7, groups: [group], silent: [], leftOut: '' };

  it.each<[string, object, boolean]>([
    ['is passed on as that of the pod whose token it has', answer, true],
    ['is not taken of a rank of another pod', { ...answer, groups: [{ ...group, ranks: '0,64' }] }, false],
    [
      'is not taken where a rank of another pod is silent',
      { ...answer, silent: [{ ranks: '64', why: 'noHook' }] },
      false,
    ],
    ['is not taken in words that nobody knows', { ...answer, silent: [{ ranks: '0', why: 'asleep' }] }, false],
    ['is not taken where it is too much', { ...answer, groups: Array(257).fill(group) }, false],
    [
      'is not taken of more functions than may be',
      { ...answer, groups: [{ ...group, frames: Array(65).fill('f') }] },
      false,
    ],
  ])('%s', async (_, stacks, isTaken) => {
    const words: unknown[] = [];
    const setup = aSetup({ recordStacks: (pod, sent) => void words.push([pod, sent]) });
    await setup.receive({ kind: 'hello' });
    await setup.receive({ kind: 'stacks', stacks });
    expect(words).toEqual(isTaken ? [[{ jobUid: 'job-1', epoch: 3, podIndex: 0 }, answer]] : []);
    expect(setup.counts.includes('malformed')).toBe(!isTaken);
  });
});

describe('a pod of a gang with standbys', () => {
  it('that gets ranks while it is connected may speak of them from the incarnation on in which it has them', async () => {
    const setup = aSetup();
    let found: ReportingPod = { ...pod, ranks: [], ranksSince: 1 };
    let asked = 0;
    setup.context.ports.findPod = async () => ((asked += 1), found);
    await setup.receive({ kind: 'hello', incarnation: 1, state: 'running' });
    await setup.receive({ ...aStep(5), incarnation: 1 });
    expect(setup.context.series.newestSequence).toBe(0);
    found = { ...pod, ranks: [0, 1], ranksSince: 2 };
    setup.world.incarnation = 2;
    await setup.receive({ ...aStep(6), incarnation: 2, rendezvous: 'a:1' });
    await setup.receive({ ...aStep(7), incarnation: 2 });
    expect([setup.context.series.newestSequence, asked]).toEqual([2, 2]);
    expect(setup.sent).toContainEqual({ kind: 'rendezvous', address: 'a:1', incarnation: 2 });
  });

  it('that was silent while a standby took its ranks is refused when it is back, and ends', async () => {
    const setup = aSetup();
    setup.context.ports.findPod = async () => ({ ...pod, ranksSince: 2, isReplaced: true });
    await setup.receive({ kind: 'hello', incarnation: 1, state: 'running' });
    expect(setup.sent).toEqual([
      { kind: 'refused', code: 'staleEpoch', message: 'a standby holds the ranks of this pod of attempt 3' },
    ]);
  });
});
