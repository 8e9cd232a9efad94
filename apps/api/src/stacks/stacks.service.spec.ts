import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { readConfig } from '../config/config.ts';
import type { JobsService } from '../jobs/jobs.service.ts';
import { aPrincipal } from '../testing/a-principal.ts';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { LimitExceeded } from '../limits/limit-exceeded.ts';
import { StacksService } from './stacks.service.ts';

/** An operator that accepts connections and answers nothing. */
const connections: Socket[] = [];
let server: Server;
let service: StacksService;

beforeAll(async () => {
  server = createServer((connection) => void connections.push(connection.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const config = readConfig({
    DATABASE_URL: 'postgresql://coxswain@127.0.0.1/coxswain',
    COXSWAIN_OPERATOR_SERIES_URLS: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const jobs: Pick<JobsService, 'reading'> = {
    reading: (_principal, { project, jobId }, work) => {
      const row = { uid: jobId, name: jobId, state: 'Running', namespace: project, project_id: project };
      return work(scriptedSql([]), row as never);
    },
  };
  service = new StacksService(config, jobs as JobsService, {
    refuse: (limit, message, seconds) => new LimitExceeded(limit, message, seconds),
  });
});
afterAll(() => {
  for (const connection of connections) connection.destroy();
  server.close();
});

const connected = async (count: number): Promise<number> => {
  while (connections.length < count) await once(server, 'connection');
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  return connections.length;
};

describe('requests for stack traces', () => {
  it('of one project reach the operator two at a time, and one of another project at once', async () => {
    const stop = new AbortController();
    const ask = (project: string, index: number): Promise<unknown> =>
      service
        .take(
          aPrincipal({ id: `${project}-${index}` }),
          { project, jobId: `${project}-job-${index}` },
          { signal: stop.signal },
        )
        .catch((error: unknown) => (error as Error).message);
    const greedy = Array.from({ length: 12 }, (_, index) => ask('greedy', index));
    expect(await connected(2)).toBe(2);
    const modest = ask('modest', 0);
    expect(await connected(3)).toBe(3);
    // Two hold a place, eight wait, and the others are told to come again.
    expect(await Promise.all(greedy.slice(10))).toEqual([BUSY, BUSY]);
    stop.abort();
    await Promise.all([...greedy, modest]);
    expect(connections).toHaveLength(3);
  });
});

const BUSY = 'too many stack traces are being collected; ask again in a moment';
