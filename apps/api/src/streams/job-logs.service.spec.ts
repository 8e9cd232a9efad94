import { anAttempt } from '@coxswain/api-types/testing';
import type { KeptLog, KeptLogsRequest } from './kept-logs.service.ts';
import { JobLogsService, type LogRequest } from './job-logs.service.ts';

const ATTEMPT = {
  ...anAttempt({ epoch: 2, stage: 'Ended', outcome: 'Failed', reason: 'NodeLost', message: 'Node a is gone' }),
  endedAt: '2026-01-02T00:00:00Z',
};
const SPEC = { nodes: ['a', 'b'], worldSize: 4, ranksPerPod: 2 };

interface World {
  /** Indexes of pods that are there. */
  readonly pods: readonly number[];
  readonly kept?: KeptLog;
}

function world({ pods, kept = { kind: 'none', why: 'nothing of it is kept' } }: World): {
  readonly open: (request?: Partial<LogRequest>) => Promise<readonly [string, string]>;
  readonly asked: KeptLogsRequest[];
  readonly queries: unknown[];
} {
  const asked: KeptLogsRequest[] = [];
  const queries: unknown[] = [];
  const kube = {
    list: async (_path: string, { labelSelector }: { labelSelector: string }) => {
      const wanted = /pod-index=(\d+)/.exec(labelSelector)?.[1];
      const items = pods
        .filter((index) => wanted === undefined || Number(wanted) === index)
        .map((index) => ({
          metadata: { name: `pod-${index}`, labels: { 'training.coxswain.dev/pod-index': String(index) } },
        }));
      return { items: items.toReversed() };
    },
    requestStream: async (path: string, { query }: { query: unknown }) => {
      queries.push(query);
      const name = path.split('/').at(-2) ?? '';
      return {
        body: (async function* () {
          yield Buffer.from(`of ${name}\nloss\n`);
        })(),
      };
    },
  };
  const row = { uid: 'a-1', namespace: 'team', name: 'gpt' };
  const jobs = { reading: async () => ({ row, recorded: { spec: SPEC }, attempt: ATTEMPT }) };
  const keeper = {
    open: async (request: KeptLogsRequest) => {
      asked.push(request);
      return kept;
    },
  };
  const service = new JobLogsService({ id: 'c' } as never, kube as never, jobs as never, keeper);
  const open = async (request: Partial<LogRequest> = {}): Promise<readonly [string, string]> => {
    const whole = { rank: 3, allRanks: false, follow: false, isHead: false, signal: new AbortController().signal };
    const { source, body } = await service.open({} as never, { project: 'p', jobId: 'j' }, { ...whole, ...request });
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return [source, Buffer.concat(parts).toString()];
  };
  return { open, asked, queries };
}

const KEPT: KeptLog = {
  kind: 'log',
  body: (async function* () {
    yield Buffer.from('kept\n');
  })(),
};

describe('the log of a rank', () => {
  it('is that of its pod, which is asked for what is wanted', async () => {
    const { open, asked, queries } = world({ pods: [0, 1], kept: KEPT });
    expect(await open({ tailLines: 5, since: '2026-01-01T00:00:00Z' })).toEqual(['pod', 'of pod-1\nloss\n']);
    expect(queries).toMatchObject([{ tailLines: 5, sinceTime: '2026-01-01T00:00:00Z' }]);
    expect(asked).toEqual([]);
  });

  it('has the lines that contain a text, and the last of them', async () => {
    const { open, queries } = world({ pods: [0, 1] });
    expect(await open({ grep: 'of', tailLines: 1 })).toEqual(['pod', 'of pod-1\n']);
    expect(queries).toMatchObject([{ tailLines: undefined }]);
  });

  it('is what was kept if the pod is gone', async () => {
    const { open, asked } = world({ pods: [0], kept: KEPT });
    expect(await open({ grep: 'x', since: '1970-01-01T00:00:01Z', tailLines: 9 })).toEqual(['kept', 'kept\n']);
    expect(asked).toEqual([
      { jobUid: 'a-1', attempt: 2, rank: 3, sinceMs: 1_000, grep: 'x', tailLines: 9, maxBytes: 67_108_864 },
    ]);
  });

  it('is what the attempt recorded if nothing was kept, with the reason', async () => {
    const [source, text] = await world({ pods: [] }).open();
    expect(source).toBe('attempt');
    expect(text).toMatch(
      /^# The pod of rank 3 of attempt 2 is gone.*A kept log is not shown: nothing of it is kept\..*\n# Of run 2:\nNode a is gone\n$/,
    );
  });

  it('starts no pod for a request of its headers', async () => {
    const { open, asked } = world({ pods: [], kept: KEPT });
    expect((await open({ isHead: true }))[0]).toBe('attempt');
    expect(asked).toEqual([]);
  });

  it('does not exist for a rank that does not', async () => {
    await expect(world({ pods: [0, 1] }).open({ rank: 4 })).rejects.toThrow(/rank 4 does not exist/);
  });
});

describe('the logs of all ranks', () => {
  it('are those of the pods, in the order of ranks', async () => {
    expect(await world({ pods: [1, 0] }).open({ allRanks: true })).toEqual(['pod', 'of pod-0\nloss\nof pod-1\nloss\n']);
  });

  it('are followed at the same time', async () => {
    const [, text] = await world({ pods: [0, 1] }).open({ allRanks: true, follow: true });
    expect(text.split('\n').toSorted()).toEqual(['', 'loss', 'loss', 'of pod-0', 'of pod-1']);
  });

  it('are what was kept if a pod is gone', async () => {
    const { open, asked } = world({ pods: [0], kept: KEPT });
    expect((await open({ allRanks: true }))[0]).toBe('kept');
    expect(asked).toEqual([{ jobUid: 'a-1', attempt: 2, maxBytes: 67_108_864 }]);
  });

  it('are those of the pods that are left if nothing was kept, and say so', async () => {
    const [source, text] = await world({ pods: [0] }).open({ allRanks: true });
    expect(source).toBe('pod');
    expect(text).toBe(
      '# 1 of 2 pods of attempt 2 is gone. A kept log is not shown: nothing of it is kept.\nof pod-0\nloss\n',
    );
  });
});
