import { randomUUID } from 'node:crypto';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { SeriesStore } from '../series/series-store.ts';
import { aStepFrame } from '../series/testing/a-step-frame.ts';
import { FeedReader } from './feed-reader.ts';
import { JobFanOut } from './job-fan-out.ts';
import { LiveJobs } from './live-jobs.ts';
import { StreamWriter } from './stream-writer.ts';
import { ReaderOfStream } from './testing/a-reader-of-streams.ts';

let postgres: SharedPostgres;
let api: ApiUnderTest;
let token: string;
let jobId: string;
const uid = randomUUID();
const stop = new AbortController();

beforeAll(async () => {
  postgres = migratedPostgres();
  api = await startApiUnderTest({ databaseUrl: await postgres.createDatabase('streams') });
  token = await api.project('research', 'admin');
  jobId = randomUUID();
  const { database, cluster } = api.running.infrastructure;
  await database.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state)
     SELECT $1, $2, $3, id, 'research', 'tiny', '{"training": {"steps": 10}}', 'Running' FROM projects WHERE name = 'research'`,
    [jobId, cluster.id, uid],
  );
});

afterAll(async () => {
  stop.abort();
  await api?.close();
});

const reportSteps = (...steps: number[]): Promise<void> => {
  const { database, cluster } = api.running.infrastructure;
  return new SeriesStore(database, cluster).write(
    steps.map((step) => aStepFrame({ jobUid: uid, step })),
    [],
  );
};

/** A stream over HTTP: what came so far. */
async function streamOf(as: string, lastEventId?: string): Promise<{ text: string; isEnded: boolean; status: number }> {
  const response = await fetch(`${api.running.url}/v1/projects/research/jobs/${jobId}/events/stream`, {
    headers: { authorization: `Bearer ${as}`, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
    signal: stop.signal,
  });
  const received = { text: '', isEnded: false, status: response.status };
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      received.text += decoder.decode(chunk as Uint8Array, { stream: true });
    received.isEnded = true;
  })().catch(() => (received.isEnded = true));
  return received;
}

describe('streams of a job', () => {
  it('cost two thousand who watch what they cost one: as many statements, whatever happens', async () => {
    const { database, tenantDatabase, cluster, logger } = api.running.infrastructure;
    const { rows } = await database.query<{ id: string }>("SELECT id FROM projects WHERE name = 'research'");
    const scope = { kind: 'project', id: rows[0]?.id ?? '' } as const;
    const live = new LiveJobs(database.url);
    let statements = 0;
    const counting: Pick<typeof tenantDatabase, 'within'> = {
      within: (of, work) =>
        tenantDatabase.within(of, (sql) =>
          work({
            ...sql,
            query: (text, parameters) => {
              statements += 1;
              return sql.query(text, parameters);
            },
          }),
        ),
    };
    const costOf = async (watchers: number, step: number): Promise<number> => {
      statements = 0;
      const fanOut = new JobFanOut({ reader: new FeedReader(counting, cluster), live, logger });
      const readers = Array.from({ length: watchers }, () => {
        const reader = new ReaderOfStream();
        const writer = new StreamWriter(reader.response, 1_048_576, () => fanOut.leave(writer));
        const check = (): Promise<() => boolean> => Promise.resolve(() => true);
        const place = { event: 0, change: undefined };
        void fanOut.watch({ scope, jobId, place, writer, check, credential: 'x' });
        return reader;
      });
      await Promise.all(readers.map((reader) => reader.until(1)));
      await reportSteps(step);
      expect(new Set((await Promise.all(readers.map((reader) => reader.until(2)))).flat())).toEqual(
        new Set(['job', `step ${step}`]),
      );
      fanOut.close();
      return statements;
    };
    live.start();
    await waitFor(() => live.isListening, { what: 'the listener' });
    const [one, many] = [await costOf(1, 1), await costOf(2_000, 2)];
    expect(many).toBe(one);
    expect(one).toBeLessThanOrEqual(6);
    await live.close();
  });

  it('go on after what was seen, over HTTP', async () => {
    const first = await streamOf(token);
    await waitFor(() => first.text.includes('event: job'), { what: 'the job' });
    await reportSteps(3, 4);
    await waitFor(() => first.text.includes('"step":4'), { what: 'the steps' });
    const ids = [...first.text.matchAll(/^id: (\S+)/gm)].map(([, id]) => id);
    await reportSteps(5);
    const second = await streamOf(token, ids.at(-1));
    await waitFor(() => second.text.includes('"step":5'), { what: 'the step that was missed' });
    expect(second.text).not.toContain('"step":4');
  });

  it('end within seconds when the token is revoked, and not those of others', async () => {
    const base = '/v1/projects/research/tokens';
    const made = await api.send('POST', base, { token, body: { name: 'leaver', role: 'viewer' } });
    const [leaver, other] = [await streamOf(made.body.token as string), await streamOf(token)];
    await waitFor(() => leaver.text.includes('event: job') && other.text.includes('event: job'), { what: 'both' });
    await api.send('DELETE', `${base}/${made.body.id as string}`, { token });
    await waitFor(() => leaver.isEnded, { what: 'the end of the stream', deadlineMs: 10_000 });
    expect(other.isEnded).toBe(false);
  });

  it('have a head alone, for who asks for it, which takes no place among them', async () => {
    const open = async (): Promise<unknown> => {
      const { body } = await api.send('GET', '/v1/projects/research/limits', { token });
      return (body.items as readonly { name: string; used: number }[]).find(({ name }) => name === 'streams')?.used;
    };
    const before = await open();
    const answer = await fetch(`${api.running.url}/v1/projects/research/jobs/${jobId}/events/stream`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${token}` },
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(await open()).toBe(before);
  });

  it('are opened for nobody of another project', async () => {
    const foreign = await api.project('rivals');
    expect((await streamOf(foreign)).status).toBe(404);
  });
});
