import { type QuotaObject, quotaObstacles } from './quota-obstacles.ts';

const GPUS = 'requests.nvidia.com/gpu';
const quota = (spec: QuotaObject['spec'], used: Record<string, string> = {}): QuotaObject => ({
  metadata: { name: 'few' },
  ...(spec === undefined ? {} : { spec }),
  status: { used },
});

describe('a quota and a job of 8 GPUs in 2 pods', () => {
  it.each<[string, QuotaObject, readonly (readonly [string, boolean])[]]>([
    ['is no obstacle if it has room', quota({ hard: { [GPUS]: '8', pods: '2' } }), []],
    ['is one for ever if it is smaller than the job', quota({ hard: { [GPUS]: '7' } }), [['gpus', true]]],
    ['is one for now if others use it', quota({ hard: { [GPUS]: '16' } }, { [GPUS]: '9' }), [['gpus', false]]],
    ['is one for ever if it is zero', quota({ hard: { [GPUS]: '0' } }), [['gpus', true]]],
    [
      'is one for now if it was lowered below what runs',
      quota({ hard: { [GPUS]: '16' } }, { [GPUS]: '24' }),
      [['gpus', false]],
    ],
    ['counts pods too', quota({ hard: { pods: '1' } }), [['pods', true]]],
    ['counts pod objects too', quota({ hard: { 'count/pods': '10' } }, { 'count/pods': '9' }), [['pods', false]]],
    ['is left out if it has a scope', quota({ hard: { pods: '0' }, scopes: ['BestEffort'] }), []],
    ['is left out if it selects a scope', quota({ hard: { pods: '0' }, scopeSelector: {} }), []],
    ['is left out if it counts other things', quota({ hard: { 'requests.cpu': '100m' } }), []],
    ['is left out if its number cannot be read', quota({ hard: { pods: '1k' } }), []],
    ['is left out if it says nothing', quota(undefined), []],
  ])('%s', (_sentence, one, want) => {
    const found = quotaObstacles([one], { gpus: 8, pods: 2 });
    expect(found.map(({ counts, isForEver }) => [counts, isForEver])).toEqual(want);
  });
});
