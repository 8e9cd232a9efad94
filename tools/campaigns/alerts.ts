import { findBinary } from '@coxswain/local-cluster';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { renderChart } from '../chart/render.ts';
import { ensureBinaries } from '../setup/binaries.ts';
import { progressOn } from '../setup/progress.ts';
import { runCommand } from '../setup/run-command.ts';
import { ALERT_CASES, type AlertCase } from './alerts/alert-cases.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'Alerts of the chart in promtool: each fires on its series, no sooner, and says what it should (seconds; minutes to build promtool once).';

interface Rule {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}
interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

/** Resolves with true when promtool accepts the rules and every case holds. */
export async function run(): Promise<boolean> {
  await ensureBinaries(['helm', 'promtool'], progressOn(process.stderr));
  const text = await renderChart({
    templates: ['templates/prometheus-rule.yaml'],
    values: ['prometheusRule.enabled=true'],
  });
  const [document] = parseAllDocuments(text).map((one) => one.toJS() as { readonly spec: RuleGroups } | null);
  if (document === null || document === undefined) throw new Error('the chart renders no PrometheusRule');
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-alerts-'));
  try {
    writeFileSync(join(directory, 'rules.yaml'), stringify(document.spec));
    writeFileSync(join(directory, 'tests.yaml'), stringify(testsOf(document.spec)));
    const promtool = await findBinary('promtool');
    for (const [words, file] of [
      [['check', 'rules', '--lint=all', '--lint-fatal'], 'rules.yaml'],
      [['test', 'rules'], 'tests.yaml'],
    ] as const) {
      await runCommand({
        name: `promtool ${words.join(' ')}`,
        command: promtool,
        args: [...words, file],
        cwd: directory,
      });
    }
    const untested = document.spec.groups
      .flatMap(({ rules }) => rules.map(({ alert }) => alert))
      .filter((alert) => !ALERT_CASES.some((one) => one.alert === alert));
    process.stdout.write(
      `${ALERT_CASES.length} cases hold${untested.length === 0 ? '' : `; no case of ${untested.join(', ')}`}\n`,
    );
    return untested.length === 0;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The file of unit tests that promtool reads. */
function testsOf({ groups }: RuleGroups): object {
  const rules = new Map(groups.flatMap((group) => group.rules.map((rule) => [rule.alert, rule] as const)));
  return {
    rule_files: ['rules.yaml'],
    evaluation_interval: '1m',
    tests: ALERT_CASES.map((one) => ({
      name: one.alert,
      interval: '1m',
      input_series: Object.entries(one.series).map(([series, values]) => ({ series, values })),
      alert_rule_test: [
        { eval_time: `${one.silentAt}m`, alertname: one.alert, exp_alerts: [] },
        { eval_time: `${one.firesAt}m`, alertname: one.alert, exp_alerts: [expectedOf(one, rules.get(one.alert))] },
      ],
    })),
  };
}

function expectedOf({ labels, severity = 'warning', summary, description: text }: AlertCase, rule?: Rule): object {
  return {
    exp_labels: { ...labels, severity },
    exp_annotations: { summary, description: text ?? rule?.annotations['description'] },
  };
}
