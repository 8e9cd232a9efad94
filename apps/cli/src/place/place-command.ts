import { isDomainError } from '@coxswain/domain-error';
import { type AcrossIslands, type Fabric, uncountedNodes } from '@coxswain/fabric';
import { formatLayout, layoutViolations, MAX_PLANNED_GPUS, type ParallelLayout, worldSize } from '@coxswain/layout';
import { type DrawnGang, fabricDrawing } from '@coxswain/plan-report';
import type { Plan } from '@coxswain/planner';
import { Option, type Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { largestOf } from './largest-of.ts';
import { readLayoutFile } from '../plan/layout-file.ts';
import { NOTHING_FITS } from '../plan/ask-planner.ts';
import { type PlaceAnswer, placeAnswer, type PlaceQuestion } from './place-answer.ts';
import { placeText } from './place-tables.ts';
import { readRequest, type RequestOptions } from '../plan/plan-request.ts';
import { layoutOptions, requestOptions } from '../plan/planner-options.ts';
import { render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { stageGpus, stagesToPlace } from './stage-gpus.ts';
import type { ClusterOptions } from '../fabric/cluster-options.ts';
import { clusterOptions, observeCluster } from '../fabric/observed-cluster.ts';
import { replaceFile } from '../files/write-file.ts';

const ACROSS_ISLANDS = { never: 'never', pipeline: 'pipeline', any: 'anyGroup' } as const satisfies Readonly<
  Record<string, AcrossIslands>
>;

interface PlaceOptions extends RequestOptions, ClusterOptions {
  readonly layout: string;
  readonly acrossIslands: keyof typeof ACROSS_ISLANDS;
  readonly microBatch?: number;
  readonly role?: string;
  readonly stageGpus?: NonNullable<Plan['stageGpus']>;
  readonly draw?: string;
  readonly json?: true;
}

/** `coxswain place`: which node each rank of a layout would get. */
export function addPlaceCommand(program: Command, session: Session): void {
  requestOptions(layoutOptions(clusterOptions(program.command('place'))))
    .description('show which node each rank of a layout would get, and what that costs; needs no Coxswain server')
    .requiredOption('--layout <file>', 'a layout, as `coxswain predict` takes it')
    .addOption(
      new Option(
        '--across-islands <which>',
        'process groups that may span several networks, if no network holds the whole gang',
      )
        .choices(Object.keys(ACROSS_ISLANDS))
        .default('never'),
    )
    .option(
      '--stage-gpus <stages=gpu,...>',
      'GPU types of consecutive stages, such as 5=h100,3=a100 (default: from the plan in the file, else one type)',
      stageGpus,
    )
    .option('--draw <file>', 'also draw the fabric with the placed gang as SVG')
    .addHelpText('after', EXAMPLES)
    .action(async (options: PlaceOptions) => {
      if (options.draw === '-') throw new CliError('--draw needs a file: the answer goes to standard output.');
      const format = options.json === true ? 'json' : session.outputFormat();
      const file = readLayoutFile(options.layout, options);
      const tooMany = tooManyRanks(options.layout, file.asked.layout);
      if (tooMany !== undefined) {
        if (format === 'table') throw new CliError(tooMany.refusal.message, NOTHING_FITS);
        session.print(render(tooMany, format, () => ''));
        return session.setExitCode(NOTHING_FITS);
      }
      const question = await readQuestion(options, file);
      const answer = inPlainWords(() => placeAnswer(question, () => performance.now()));
      const { layout, capacity } = question;
      session.print(render(answer, format, () => placeText(answer, layout, capacity.fabric.nodes)));
      if (options.draw !== undefined) replaceFile(options.draw, fabricDrawing(capacity, drawnGang(layout, answer)));
      if (!answer.placed) session.setExitCode(NOTHING_FITS);
    });
}

/** Nothing of a gang that is not placed: then the picture shows why. */
function drawnGang(layout: ParallelLayout, { placement }: PlaceAnswer): DrawnGang | undefined {
  if (placement === undefined) return undefined;
  const { ranks, ranksPerPod } = placement;
  return { layout, ranksPerPod, nodes: ranks.filter(({ rank }) => rank % ranksPerPod === 0).map(({ node }) => node) };
}

async function readQuestion(options: PlaceOptions, file: ReturnType<typeof readLayoutFile>): Promise<PlaceQuestion> {
  const { gpusPerNode, acrossIslands } = options;
  refuseGpuBesideStages(options, file.stageGpus);
  const capacity = await observeCluster(options);
  const model = inPlainWords(() => readModel(options, file, capacity.fabric));
  const { layout } = file.asked;
  const stages = stagesToPlace(options.stageGpus ?? file.stageGpus, layout, capacity.fabric.nodes);
  return {
    layout,
    acrossIslands: ACROSS_ISLANDS[acrossIslands],
    capacity,
    problems: [...uncountedNodes(capacity.facts), ...capacity.podProblems],
    ...(gpusPerNode === undefined ? {} : { gpusPerNode }),
    ...(stages === undefined ? {} : { stageGpus: stages }),
    ...(model === undefined ? {} : { model }),
  };
}

/** What is answered before nodes are read: there is no cluster for it. As many ranks as can be planned for can be placed. */
function tooManyRanks(
  path: string,
  layout: ParallelLayout,
): Pick<Required<PlaceAnswer>, 'placed' | 'refusal' | 'layout' | 'gpus'> | undefined {
  const broken = layoutViolations(layout, { mostRanks: MAX_PLANNED_GPUS });
  const tooMany = broken.find(({ rule }) => rule === 'worldSizeWithinLimit');
  if (tooMany === undefined) return undefined;
  const degrees = formatLayout(layout);
  const message = `${path} divides by ${degrees}: ${tooMany.message}.`;
  return { placed: false, refusal: { kind: 'unsatisfiable', message }, layout: degrees, gpus: worldSize(layout) };
}

/** Who names GPUs for parts of the pipeline has named all of them. */
function refuseGpuBesideStages(
  { gpu, layout, stageGpus: asked }: PlaceOptions,
  planned: PlaceOptions['stageGpus'],
): void {
  const stages = asked ?? planned;
  if (gpu === undefined || stages === undefined) return;
  const named = stages.map(({ stages: count, gpu: type }) => `${count}=${type}`).join(',');
  const where = asked === undefined ? `stageGpus of ${layout} (${named})` : `--stage-gpus ${named}`;
  throw new CliError(
    `--gpu ${gpu} names one type of GPU for all stages, and ${where} names one for each part of the pipeline. ` +
      (asked === undefined
        ? `Leave out --gpu, or take stageGpus out of the file to place all stages on GPUs of one type.`
        : 'Leave one of the two out.'),
  );
}

/** Bytes do not depend on the GPUs, but a request names some. */
const ANY_GPU = 'h100';

/** What is known of the model; undefined where neither the command line nor a file names one. The machines are those that are there, not those of a file. */
function readModel(
  options: PlaceOptions,
  { asked, known }: ReturnType<typeof readLayoutFile>,
  { nodes }: Fabric,
): PlaceQuestion['model'] {
  if ((options.model ?? options.file ?? known.model ?? known.modelShape) === undefined) return undefined;
  const cluster = {
    gpu: options.gpu ?? ANY_GPU,
    gpus: worldSize(asked.layout),
    ...largestOf(nodes),
  };
  const { request } = readRequest({ ...options, gpus: cluster.gpus }, { ...known, cluster });
  return { request, asked, namesGpu: options.gpu !== undefined };
}

/** What the planner's libraries refuse is the user's to mend. */
function inPlainWords<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (isDomainError(error)) throw new CliError(error.message, error.code === 'INVALID_LAYOUT' ? NOTHING_FITS : 1);
    throw error;
  }
}

const EXAMPLES = `
Without --model or a layout file with a model, bytes are those of a typical model, and no step time is predicted.

Examples:
  kubectl get nodes -o json > nodes.json; kubectl get pods -A -o json > pods.json
  coxswain place --nodes nodes.json --busy pods.json --layout layout.yaml
  coxswain place --nodes nodes.json --layout layout.yaml --model llama-3.1-70b --global-batch 512 --seq 8192
  coxswain place --nodes nodes.json --layout layout.yaml --draw gang.svg
  coxswain place --layout layout.yaml --gpus-per-node 4 --json | jq .placement.ranks
  coxswain plan --model llama-3.1-70b --gpu h100 --island gpus=320 --island gpus=192,gpu=a100,nic=roce,gbps=200 --stages-in-one-island \
    --global-batch 1024 --seq 8192 --stack megatron-lm --json | jq .best > best.json
  coxswain place --nodes nodes.json --layout best.json --across-islands any

Exit code 4: it cannot be placed now, or at all.`;
