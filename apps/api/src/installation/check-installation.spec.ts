import { type Check, checkInstallation, checksOf } from './check-installation.ts';

const PLACES = { apiUrl: 'http://api', operatorUrl: 'http://operator:8081' };

/** Runs the checks against parts that answer so; how often each was asked, and what was said. */
async function check(answer: (check: Check, time: number) => number | Error, tries = 3) {
  const printed: string[] = [];
  const asked = new Map<string, number>();
  let left = tries;
  const failed = await checkInstallation(checksOf({ ...PLACES, token: 'of-a-service-account' }), {
    ask: (one) => {
      const time = (asked.get(one.sentence) ?? 0) + 1;
      asked.set(one.sentence, time);
      const status = answer(one, time);
      if (status instanceof Error) return Promise.reject(status);
      return Promise.resolve({ status, text: 'projector: has not compared every row yet\n' });
    },
    print: (line) => void printed.push(line),
    pause: () => Promise.resolve(left-- > 0),
  });
  return { failed, printed: printed, asked };
}

describe('helm test', () => {
  it('asks both programs whether they live and can be used, and the API with a token and without', async () => {
    const { failed, printed: printed } = await check(({ status }) => status);
    expect(failed).toBe(0);
    expect(printed).toEqual([
      'yes: the API lives',
      'yes: the API has database and cluster',
      'yes: the operator lives',
      'yes: the operator sees the cluster',
      'yes: the API lets nobody in without a token',
      'yes: the API knows a service account by its token',
    ]);
  });

  it('asks with a token only where service accounts are let in', () => {
    const asked = checksOf(PLACES);
    expect(asked.map(({ headers }) => headers)).toEqual(asked.map(() => undefined));
  });

  it('asks again while a part starts', async () => {
    const { failed, asked } = await check(({ url, status }, time) =>
      url.endsWith('8081/readyz') && time < 3 ? new Error('connect ECONNREFUSED') : status,
    );
    expect([failed, asked.get('the operator sees the cluster')]).toEqual([0, 3]);
  });

  it('says what a part that stays so answers, and goes on with the others', async () => {
    const { failed, printed: printed } = await check(({ url, status }) => (url === 'http://api/readyz' ? 503 : status));
    expect(failed).toBe(1);
    expect(printed).toContain(
      'NO: the API has database and cluster: http://api/readyz answers 503, not 200: projector: has not compared every row yet',
    );
    expect(printed).toHaveLength(6);
  });
});
