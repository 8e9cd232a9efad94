import { isDomainError } from '@coxswain/domain-error';
import { layoutRules, worldSize } from '@coxswain/layout';
import {
  type AskedLayout,
  OBJECTIVES,
  pipelineOfPlan,
  type Plan,
  type PlanAnswer,
  type PlanRequest,
} from '@coxswain/planner';
import { isEngineName } from '@coxswain/engines';
import { planReport, type PlanReportFacts } from '@coxswain/plan-report';
import { Option, type Command } from 'commander';
import { askPlanner, NOTHING_FITS, predictHere } from './ask-planner.ts';
import { CliError } from '../cli-error.ts';
import { engineVerdict } from '../verdicts/engine-verdict.ts';
import { refusalText } from '../verdicts/refusal-text.ts';
import { type LayoutFile, readLayoutFile } from './layout-file.ts';
import { pinned, readRequest, type ReadRequest, type RequestOptions } from './plan-request.ts';
import { planSummary } from './plan-summary.ts';
import { planText, predictionText, whyNotText } from './planner-tables.ts';
import { addPresetsCommand } from './presets-command.ts';
import { layoutOptions, requestOptions } from './planner-options.ts';
import { render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { replaceFile } from '../files/write-file.ts';

interface PlanOptions extends RequestOptions {
  readonly json?: true;
  readonly report?: string;
  readonly save?: true;
  readonly explain?: true;
}

interface LayoutOptions extends RequestOptions {
  readonly json?: true;
  readonly microBatch?: number;
  readonly role?: string;
}

/** Adds the commands plan, predict, why-not and presets. They work offline unless --save is given. */
export function addPlannerCommands(program: Command, session: Session): void {
  searchOptions(program.command('plan'))
    .description('find the best layout for a model on a cluster; works offline without --save')
    .option('--top <count>', 'how many layouts to find (default: 5; a summary shows 4)', wholeNumber)
    .option('--explain', 'also show the parts of a step, every excluding rule and every assumption')
    .option('--save', 'search on the server, and keep request and plan in the project (see `coxswain plans`)')
    .option('--report <file>', 'also write an HTML page that draws the pipeline')
    .addHelpText('after', PLAN_EXAMPLES)
    .action((options: PlanOptions) =>
      inPlainWords(async () => {
        const read = readRequest(options);
        const found = await (options.save === true ? askServer : planHere)(read.request, session);
        const answer = withAssumptions(found, read);
        if (options.report !== undefined) writeReport(options.report, read.request, answer);
        show(session, options, answer, () => answerText(read.request, answer, session, options));
        if (answer.best === undefined) session.setExitCode(NOTHING_FITS);
      }),
    );

  requestOptions(layoutOptions(program.command('predict <layout-file>')))
    .description('predict the step time and memory of a layout; works offline')
    .addHelpText('after', PREDICT_EXAMPLES)
    .action((path: string, options: LayoutOptions) =>
      inPlainWords(async () => {
        const { asked, request, engineOptions } = readAsked(path, options);
        rejectRefused({ asked, request, engineOptions });
        const prediction = predictHere(request, asked);
        const plan: Plan = { ...asked, gpus: worldSize(asked.layout), prediction };
        show(session, options, plan, () => predictionText(request, plan, session.widthColumns));
        if (prediction.verdict === 'doesNotFit') session.setExitCode(NOTHING_FITS);
      }),
    );

  searchOptions(layoutOptions(program.command('why-not <layout-file>')))
    .description('explain why a layout is not the best: the first broken rule, or its extra cost over the best layout')
    .addHelpText('after', WHY_NOT_EXAMPLES)
    .action((path: string, options: LayoutOptions) =>
      inPlainWords(async () => {
        const { asked, request } = readAsked(path, options);
        const answer = await askPlanner({ kind: 'whyNot', request, asked }, session);
        show(session, options, answer, () => whyNotText(asked, answer, session.widthColumns));
        const { verdict } = answer;
        if (verdict === 'illegal' || verdict === 'doesNotFit') session.setExitCode(NOTHING_FITS);
      }),
    );

  addPresetsCommand(program, session);
}

function answerText(
  request: PlanRequest,
  answer: PlanAnswer,
  { widthColumns: width }: Session,
  { explain, top }: PlanOptions,
): string {
  return explain === true ? planText(request, answer, width) : planSummary(request, answer, { width, top });
}

function planHere(request: PlanRequest, session: Session): Promise<PlanAnswer> {
  return askPlanner({ kind: 'plan', request }, session);
}

/** The same question to the planner of the API, which keeps the answer. Ctrl-C ends the search there too. */
async function askServer(request: PlanRequest, session: Session): Promise<PlanAnswer> {
  const { api, project } = await session.open();
  const { id, answer } = await api.createPlan(project, request);
  session.printError(`Saved as plan ${id} of project ${project}.`);
  return answer;
}

/** What decides which layout is the best one. */
function searchOptions(command: Command): Command {
  return requestOptions(command)
    .addOption(new Option('--objective <goal>', 'what the best layout optimizes').choices(OBJECTIVES))
    .option(
      '--pin <choices>',
      'fix these options: tp=8,pp=4,cp=,dp=,ep=,etp=,vpp=,mbs=,zero=,schedule=,recompute=',
      pinned,
    );
}

interface Asked {
  readonly asked: AskedLayout;
  readonly request: PlanRequest;
  /** Of the file, if the request is for the same engine. */
  readonly engineOptions: NonNullable<LayoutFile['engine']>['options'];
}

function readAsked(path: string, options: LayoutOptions): Asked {
  const { asked, known, engine } = readLayoutFile(path, options);
  const gpus = options.gpus ?? known.cluster?.gpus ?? worldSize(asked.layout);
  const { request } = readRequest({ ...options, gpus }, known);
  const isSame = engine !== undefined && stackOf(request).name === engine.name;
  return { asked, request, engineOptions: isSame ? engine.options : undefined };
}

function stackOf({ stack = '' }: PlanRequest): { readonly name: string; readonly version: string | undefined } {
  const [name = '', version] = stack.split(' ');
  return { name, version };
}

/** A layout that the engine refuses has no price: `predict` ends as `layout check` and `render` do. */
function rejectRefused({ asked, request, engineOptions }: Asked): void {
  const { name, version } = stackOf(request);
  if (!isEngineName(name)) return;
  const { model, modelShape, globalBatchSize, sequenceLength, packing, lora } = request;
  const batch = { globalBatchSize, sequenceLength, microBatchSize: asked.microBatchSize, packing: 'none' as const };
  const { refusal } = engineVerdict({
    engine: { name, version, options: engineOptions },
    layout: asked.layout,
    model: modelShape ?? model,
    batch,
    packing,
    lora,
  });
  // The planner reports broken layout rules itself, all of them.
  if (refusal === undefined || layoutRules.some(({ name: one }) => one === refusal.rule)) return;
  throw new CliError(refusalText(name, refusal));
}

function withAssumptions(answer: PlanAnswer, { assumed }: ReadRequest): PlanAnswer {
  return { ...answer, assumptions: [...assumed, ...answer.assumptions] };
}

function show<T>(session: Session, { json }: { readonly json?: true }, data: T, table: () => string): void {
  session.print(render(data, json === true ? 'json' : session.outputFormat(), table));
}

function writeReport(path: string, request: PlanRequest, answer: PlanAnswer): void {
  const html = planReport({ request, answer, ...pipelineToDraw(request, answer) });
  replaceFile(path, html);
}

function pipelineToDraw(request: PlanRequest, { best, closest }: PlanAnswer): Pick<PlanReportFacts, 'pipeline'> {
  const shown = best ?? closest?.plan;
  const pipeline = shown === undefined ? undefined : pipelineOfPlan(request, shown);
  return pipeline === undefined ? {} : { pipeline };
}

/** What the planner's libraries refuse is the user's to mend. */
async function inPlainWords(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (isDomainError(error)) throw new CliError(error.message);
    throw error;
  }
}

const PLAN_EXAMPLES = `
Examples:
  coxswain plan --model llama-3.1-70b --gpu h100 --gpus 512 --global-batch 1024 --seq 8192
  coxswain plan --model ./config.json --gpu b200 --gpus 64 --global-batch 256 --seq 4096 --precision mxfp8 --report plan.html
  coxswain plan --model deepseek-v3 --gpu h800 --gpus 2048 --global-batch 15360 --seq 4096 --tokens 14.8T --deadline 60d --objective gpus
  coxswain plan --model gpt3-175b --gpu a100 --island gpus=256,nic=infiniband --island gpus=256,nic=roce --between-islands-gbps 25 \\
      --global-batch 1536 --seq 2048 --pin tp=8
  coxswain plan --model llama-3.1-70b --gpu h100 --island gpus=320 --island gpus=192,gpu=a100,nic=roce,gbps=200 --stages-in-one-island \\
      --global-batch 1024 --seq 8192 --stack megatron-lm
  coxswain plan -f request.yaml --json | jq .best.layout
  coxswain --project research plan -f request.yaml --save

Exit code 4: no layout fits.`;

const PREDICT_EXAMPLES = `
The file holds a layout document as in examples/layouts, a layout alone, or one plan of coxswain plan --json.
Options override its model, batch and machines.

Examples:
  coxswain predict layout.yaml --model llama-3.1-70b --gpu h100 --global-batch 1024 --seq 8192
  coxswain predict examples/layouts/06-holmes.yaml
  coxswain plan -f request.yaml --json | jq .best | coxswain predict - -f request.yaml

Exit code 1: the engine refuses the layout. Exit code 4: the layout does not fit the memory.`;

const WHY_NOT_EXAMPLES = `
Examples:
  coxswain why-not layout.yaml --model llama-3.1-70b --gpu h100 --global-batch 1024 --seq 8192

Exit code 4: the layout is not legal or does not fit the memory.`;
