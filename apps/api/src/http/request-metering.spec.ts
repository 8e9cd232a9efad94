import { setImmediate as turn } from 'node:timers/promises';
import { fastify, type FastifyInstance } from 'fastify';
import { claimRequest, CpuMeter, outsideRequests, resumeRequest } from '../limits/request-cpu.ts';
import { meterRequests } from './request-metering.ts';

/** Processor time as a test makes it: `work` uses some. */
function aServer(routes: (server: FastifyInstance, work: (ms: number) => void) => void) {
  let usedMs = 0;
  const charged = new Map<string, number>();
  const charge = (whose: string, ms: number): unknown => charged.set(whose, (charged.get(whose) ?? 0) + ms);
  const server = fastify();
  meterRequests(server, { chargeStrangers: (ms) => charge('strangers', ms) }, new CpuMeter(() => usedMs));
  server.addHook('preHandler', async ({ headers }) => {
    const whose = headers['authorization'];
    if (whose !== undefined) claimRequest((ms) => charge(whose, ms));
  });
  routes(server, (ms) => void (usedMs += ms));
  const ask = async (whose: string | undefined, url = '/', payload?: object): Promise<void> => {
    const headers = whose === undefined ? {} : { authorization: whose };
    await server.inject({ method: payload === undefined ? 'GET' : 'POST', url, headers, ...(payload && { payload }) });
    await turn();
  };
  return { ask, charged };
}

/** The answer of a database: it arrives in another turn, and the request goes on. */
async function answer(): Promise<void> {
  await turn();
  resumeRequest();
}

describe('the processor time of a request', () => {
  it('is charged to whoever claimed it, before an answer of the database and after it', async () => {
    const { ask, charged } = aServer((server, work) => {
      server.get('/', async () => {
        work(5);
        await Promise.resolve();
        work(7);
        await answer();
        work(11);
        await Promise.resolve();
        work(13);
        return 'ok';
      });
    });
    await ask('ada');
    expect(Object.fromEntries(charged)).toEqual({ ada: 36 });
  });

  it('counts its own stretches alone while others run, whatever their order', async () => {
    const { ask, charged } = aServer((server, work) => {
      server.get<{ Querystring: { ms: string } }>('/', async ({ query }) => {
        for (let time = 0; time < 4; time++) {
          await answer();
          work(Number(query.ms));
        }
        return 'ok';
      });
    });
    await Promise.all([ask('ada', '/?ms=100'), ask('bob', '/?ms=1'), ask(undefined, '/?ms=10')]);
    expect(Object.fromEntries(charged)).toEqual({ ada: 400, bob: 4, strangers: 40 });
  });

  it('is counted apart where one event lets several requests go on', async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const { ask, charged } = aServer((server, work) => {
      server.get<{ Querystring: { ms: string } }>('/', async ({ query }) => {
        waiting += 1;
        if (waiting === 2) setImmediate(gate.resolve);
        await gate.promise;
        resumeRequest();
        work(Number(query.ms));
        return 'ok';
      });
    });
    await Promise.all([ask('ada', '/?ms=100'), ask('bob', '/?ms=1')]);
    expect(Object.fromEntries(charged)).toEqual({ ada: 100, bob: 1 });
  });

  it('has that of its body in it', async () => {
    const { ask, charged } = aServer((server, work) => {
      server.addHook('preValidation', (_request, _reply, done) => {
        work(3);
        done();
      });
      server.post('/', () => 'ok');
    });
    await ask('ada', '/', { a: 1 });
    expect(Object.fromEntries(charged)).toEqual({ ada: 3 });
  });

  it('has nothing in it of what many requests share', async () => {
    let shared: Promise<void> | undefined;
    const { ask, charged } = aServer((server, work) => {
      server.get('/', () => {
        work(1);
        shared ??= outsideRequests(async () => {
          await answer();
          work(1_000);
        });
        return 'ok';
      });
    });
    await ask('ada');
    await shared;
    await ask('ada');
    expect(Object.fromEntries(charged)).toEqual({ ada: 2 });
  });
});
