import type { AccuracyFigures, MeasuredPrediction, PlanAccuracy, PlanSummary } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import type { Command } from 'commander';
import { columns, formatMs, signed, utcText } from '../output/output.ts';
import { planText } from './planner-tables.ts';
import type { Session } from '../session/session.ts';

/** Commands about plans that the API keeps: what was asked of the planner, and how its predictions came true. */
export function addPlansCommands(program: Command, session: Session): void {
  const plans = program
    .command('plans')
    .description('plans that the server keeps, and how accurate their predictions were');

  plans
    .command('accuracy')
    .description('compare predicted with measured step times of past jobs (--project - for every project)')
    .action(async () => {
      const { api, project } = await session.open();
      session.show(await api.planAccuracy(project), accuracyReport);
    });

  plans
    .command('list')
    .description('list kept plans, newest first')
    .action(async () => {
      const { api, project } = await session.open();
      const items: PlanSummary[] = [];
      let pageToken: string | undefined;
      do {
        const page = await api.planPage(project, { pageSize: 100, pageToken });
        items.push(...page.items);
        pageToken = page.nextPageToken;
      } while (pageToken !== undefined);
      session.show(items, planTable);
    });

  plans
    .command('get <id>')
    .description('show one plan and its request')
    .action(async (id: string) => {
      const { api, project } = await session.open();
      session.show(await api.plan({ project, id }), ({ request, answer }) =>
        planText(request, answer, session.widthColumns),
      );
    });
}

function planTable(items: readonly PlanSummary[]): string {
  if (items.length === 0) return 'No plans yet. `coxswain plan --save` asks for one.';
  const rows = items.map((plan) => [
    plan.model ?? '-',
    `${plan.gpus} x ${plan.gpu}`,
    plan.layout === null ? 'nothing fits' : formatLayout(plan.layout),
    plan.predictedStepMs === null ? '-' : formatMs(plan.predictedStepMs),
    intervalText(plan),
    utcText(plan.createdAt),
    plan.id,
  ]);
  return columns([['MODEL', 'GPUS', 'LAYOUT', 'STEP', '80 OF 100 IN', 'ASKED (UTC)', 'ID'], ...rows]);
}

/** The 80 % interval of the step time. Older plans have none. */
function intervalText({ predictedStepLowMs, predictedStepHighMs }: PlanSummary): string {
  if (predictedStepLowMs === undefined || predictedStepHighMs === undefined) return '-';
  return `${formatMs(predictedStepLowMs)} to ${formatMs(predictedStepHighMs)}`;
}

function accuracyReport({ overall, groups, items }: PlanAccuracy): string {
  if (overall.n === 0) return 'No job has both a predicted and a measured step time yet.';
  const table = columns([
    ['ENGINE', 'GPU', 'N', 'MEDIAN |ERROR|', 'P90', 'BIAS', 'WITHIN 10 %', 'WITHIN 20 %'],
    ...groups.map((group) => [group.engine, group.gpuType, ...figures(group)]),
    ['all', '', ...figures(overall)],
  ]);
  const jobs = columns([
    ['JOB', 'ATTEMPT', 'LAYOUT', 'PREDICTED', 'MEASURED', 'ERROR', 'STEPS'],
    ...items.map(judgedRow),
  ]);
  return `${table}\n\n${jobs}\n\nErrors are (predicted - measured) / measured; above 0 the prediction is too long.`;
}

function figures({ n, medianAbsPct, p90AbsPct, biasPct, within10, within20 }: AccuracyFigures): readonly string[] {
  const percent = (value: number | null): string => (value === null ? '-' : `${value.toFixed(1)} %`);
  const bias = biasPct === null ? '-' : `${signed(biasPct)} %`;
  return [String(n), percent(medianAbsPct), percent(p90AbsPct), bias, percent(within10), percent(within20)];
}

function judgedRow(item: MeasuredPrediction): readonly string[] {
  return [
    item.name,
    String(item.epoch),
    formatLayout(item.layout),
    formatMs(item.predictedMs),
    formatMs(item.measuredMs),
    `${signed(item.errorPct)} %`,
    String(item.measuredSteps),
  ];
}
