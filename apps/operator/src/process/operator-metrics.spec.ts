import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOperatorMetrics } from './operator-metrics.ts';

const RULES = join(import.meta.dirname, '../../../../charts/coxswain/templates/prometheus-rule.yaml');

describe('the metrics of the operator', () => {
  it('has every metric that an alert of the chart asks for', async () => {
    const zero = (): number => 0;
    const { metrics } = createOperatorMetrics({
      isLeader: zero,
      launcherConnections: zero,
      ingestUtilisation: zero,
      cachedPods: zero,
      cachedJobs: zero,
      watchOutageSeconds: zero,
      quarantinedJobs: zero,
    });
    const { text } = await metrics.expose();
    const expressions = readFileSync(RULES, 'utf8').match(/(?<=expr: ).*/g) ?? [];
    const asked = expressions.flatMap((expression) => expression.match(/\b(coxswain|nodejs)_[a-z0-9_]+/g) ?? []);
    expect(new Set(asked)).toEqual(
      new Set([
        'coxswain_operator_ingest_restarts_total',
        'coxswain_operator_is_leader',
        'coxswain_operator_quarantined_jobs',
        'coxswain_operator_refusals_total',
        'coxswain_operator_watch_outage_seconds',
        'nodejs_eventloop_lag_p99_seconds',
      ]),
    );
    for (const name of asked) expect(text).toMatch(new RegExp(`# TYPE ${name} (gauge|counter)`));
  });
});
