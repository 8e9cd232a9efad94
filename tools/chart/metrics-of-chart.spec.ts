import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isOurs, ofApi, ofOperator } from '../generate/metrics.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CHART_FILES = ['templates/prometheus-rule.yaml', 'files/dashboard.json'];

/** Names of series that Prometheus would have, of a metric of that kind. */
function seriesOf({ name, kind }: { readonly name: string; readonly kind: string }): readonly string[] {
  return kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name];
}

describe('the metrics that the chart asks for', () => {
  it.each(CHART_FILES)('of %s are those that the programs have', (file) => {
    const there = new Set([...ofOperator(), ...ofApi()].flatMap(seriesOf));
    const text = readFileSync(join(ROOT, 'charts/coxswain', file), 'utf8');
    const expressions = text.match(/(?<=expr"?: ).*/g) ?? [];
    const asked = new Set(
      expressions.flatMap((expression) => expression.match(/\b(?:coxswain|nodejs|process)_[a-z0-9_]+/g) ?? []),
    );
    expect(asked.size).toBeGreaterThan(8);
    expect([...asked].filter((name) => !there.has(name))).toEqual([]);
  });
});

it.each([...ofOperator().filter(isOurs), ...ofApi()])(
  '$name has a meaning, and its unit is one of Prometheus',
  ({ name, help, kind }) => {
    expect(help).toMatch(/^\S.*\.$/);
    expect(name).not.toMatch(/_(ms|milliseconds|kb|mb|minutes|hours|percent)(_|$)/);
    expect(name.endsWith('_total')).toBe(kind === 'counter');
  },
);
