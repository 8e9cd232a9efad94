import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createOperatorMetrics } from '../../apps/operator/src/process/operator-metrics.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CHART_FILES = ['templates/prometheus-rule.yaml', 'files/dashboard.json'];
const API = join(ROOT, 'apps/api/src');

/** Names of series that Prometheus would have, of a metric of that kind. */
function seriesOf(name: string, kind: string): readonly string[] {
  return kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name];
}

/** Of the operator as it exposes them, with those of its process. */
async function ofOperator(): Promise<readonly string[]> {
  const zero = (): number => 0;
  const { metrics } = createOperatorMetrics({
    isLeader: zero,
    launcherConnections: zero,
    ingestUtilisation: zero,
    cachedPods: zero,
    cachedJobs: zero,
    watchOutageSeconds: zero,
    quarantinedJobs: zero,
    endsHeld: () => ({}),
    unrecordedJobs: zero,
    queue: () => ({ waitingByReason: {}, oldestWaitSeconds: 0 }),
    goodput: { read: () => [], settled: async () => undefined },
  });
  const { text } = await metrics.expose();
  return [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', kind = '']) => seriesOf(name, kind));
}

/** Of the API as its sources declare them: no program but a whole API registers all of them. */
function ofApi(): readonly string[] {
  const sources = readdirSync(API, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?<!\.spec|\.itest)\.ts$/.test(name),
  );
  return sources.flatMap((name) =>
    [
      ...readFileSync(join(API, name), 'utf8').matchAll(/metrics\.(counter|gauge|histogram)\(\{\s*name: '([^']+)'/g),
    ].flatMap(([, kind = '', metric = '']) => seriesOf(metric, kind)),
  );
}

describe('the metrics that the chart asks for', () => {
  it.each(CHART_FILES)('of %s are those that the programs have', async (file) => {
    const there = new Set([...(await ofOperator()), ...ofApi()]);
    const text = readFileSync(join(ROOT, 'charts/coxswain', file), 'utf8');
    const expressions = text.match(/(?<=expr"?: ).*/g) ?? [];
    const asked = new Set(
      expressions.flatMap((expression) => expression.match(/\b(?:coxswain|nodejs|process)_[a-z0-9_]+/g) ?? []),
    );
    expect(asked.size).toBeGreaterThan(8);
    expect([...asked].filter((name) => !there.has(name))).toEqual([]);
  });
});
