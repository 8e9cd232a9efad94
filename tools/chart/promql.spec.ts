/** Alerts and panels of the chart, as the grammar of Prometheus reads them. `npm run campaign -- alerts` runs their arithmetic in promtool. */
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ALERT_CASES } from '../campaigns/alerts/alert-cases.ts';
import { ofApi, ofOperator } from '../generate/metrics.ts';

const CHART = resolve(import.meta.dirname, '../../charts/coxswain');
/** Labels that Prometheus or a histogram adds. */
const ADDED = ['job', 'instance', 'namespace', 'pod', 'le'];

interface Panel {
  readonly panels?: readonly Panel[];
  readonly targets?: readonly { readonly expr?: string }[];
}

const ofPanels = (panels: readonly Panel[] = []): readonly string[] =>
  panels.flatMap((panel) => [...(panel.targets ?? []).flatMap(({ expr }) => expr ?? []), ...ofPanels(panel.panels)]);
/** `$__rate_interval` and the like are Grafana's. */
const ofGrafana = (expression: string): string =>
  expression.replaceAll(/\$__\w+/g, '5m').replaceAll(/\$\{?\w+\}?/g, 'any');

const rules = readFileSync(join(CHART, 'templates/prometheus-rule.yaml'), 'utf8');
const alerts = [...rules.matchAll(/alert: (\w+)\n\s+expr: (.*)\n/g)].map(
  ([, name = '', expr = '']) => [name, expr] as const,
);
const dashboard = JSON.parse(readFileSync(join(CHART, 'files/dashboard.json'), 'utf8')) as Panel;
const panels = ofPanels(dashboard.panels).map((expr) => [expr, ofGrafana(expr)] as const);

interface Selected {
  readonly metric: string;
  readonly labels: readonly string[];
  /** Function that the range is given to; undefined: the newest value. */
  readonly of: string | undefined;
}

/** What an expression selects. Throws where it is no PromQL. */
function selectedBy(expression: string): readonly Selected[] {
  const tree = parser.parse(expression);
  const selected: Selected[] = [];
  const functions: string[] = [];
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }): string => expression.slice(from, to);
  tree.iterate({
    enter: (node) => {
      if (node.type.isError) throw new Error(`"${expression}" is no PromQL after "${expression.slice(0, node.from)}"`);
      if (node.name === 'FunctionIdentifier') functions.push(textOf(node));
      if (node.name !== 'VectorSelector') return;
      const inRange = node.node.parent?.name === 'MatrixSelector';
      const labels = node.node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
      selected.push({
        metric: textOf(node.node.getChild('Identifier') ?? { from: 0, to: 0 }),
        labels: labels.map((one) => textOf(one.getChild('LabelName') ?? { from: 0, to: 0 })),
        of: inRange ? functions.at(-1) : undefined,
      });
    },
  });
  return selected;
}

const metrics = new Map(
  [...ofOperator(), ...ofApi()].flatMap((metric) =>
    (metric.kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map(
      (suffix) => [`${metric.name}${suffix}`, metric] as const,
    ),
  ),
);

it('there are alerts and panels to read', () => {
  expect([alerts.length, panels.length]).toEqual([18, expect.any(Number)]);
  expect(panels.length).toBeGreaterThan(10);
});

it('every alert has a case for promtool', () => {
  expect([...new Set(ALERT_CASES.map(({ alert }) => alert))].sort()).toEqual(alerts.map(([name]) => name).sort());
});

it.each([...alerts, ...panels])(
  '%s selects series by labels that they have, and takes rates of counters alone',
  (_name, expression) => {
    for (const { metric: name, labels, of } of selectedBy(expression)) {
      const metric = metrics.get(name);
      const unknown = labels.filter((label) => ![...ADDED, ...(metric?.labels ?? [])].includes(label));
      expect([name, metric !== undefined, unknown]).toEqual([name, true, []]);
      const isCounter = metric?.kind !== 'gauge';
      if (of === 'rate' || of === 'increase') expect([name, isCounter]).toEqual([name, true]);
    }
  },
);

it('what is no PromQL is found', () => {
  expect(() => selectedBy('sum(increase(coxswain_jobs[5m]) >')).toThrow(/is no PromQL after/);
});
