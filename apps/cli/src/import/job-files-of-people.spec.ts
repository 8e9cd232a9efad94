/** Job files that people have, reduced, each tried on the command line as its owner would. Sources: `../testing/job-files/README.md`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OfflineOutcome, runOffline } from '../testing/run-offline.ts';

const FILES = join(import.meta.dirname, '../testing/job-files');
const at = (path: string): string => join(FILES, path);
const linesOf = (path: string): readonly string[] => readFileSync(at(path), 'utf8').trim().split('\n');
/** Every word that is a path below the folder of files becomes one of this machine. */
const run = (line: string): Promise<OfflineOutcome> =>
  runOffline({}, ...line.split(' ').map((word) => (/^\d\d-.*\//.test(word) ? at(word) : word)));

/** What a command must print, on either stream; a number is a measured step, in seconds, that its interval must hold. */
type Wanted = string | RegExp | number;
type Case = readonly [command: string, code: number, must: readonly Wanted[], mustNot?: readonly RegExp[]];

const APERTUS = '01-megatron-slurm-apertus70b';
const NEMO = '02-nemo-llama70b-fp8-h200/layout.yaml';
const GPT3 = '04-nemo-gpt3-fp8-h100/layout.yaml';
const BRIDGE = '07-bridge-llama3-70b-h200';
const TITAN = '08-torchtitan-llama70b-asynctp';
const AXOLOTL = '10-axolotl-qwen3-8b-tp-cp/layout.yaml';
const FSDP = '11-aws-fsdp70b-pytorchjob/layout.yaml';
const SLURM = '13-aws-slurm-llama2-70b/layout.yaml';
const QWEN = '22-check-against-render/layout.yaml';
const SMALL = '24-words-of-layout-documents/min.yaml';
const OWN_PROGRAM = 'Does your own program do it? Engine custom runs it';
const RUNTIME = /a runtime gives it to the pods of the job \(spec\.runtimeRef\); without it NCCL would use TCP/;

const LAYOUTS: readonly Case[] = [
  [`predict ${APERTUS}/layout.yaml --nic other --nic-gbps 200`, 0, [/tokens\/s per GPU/], [/Assumed: .* Gb\/s/]],
  [
    `render --job ${APERTUS}/job.yaml`,
    0,
    [
      '--train-samples',
      '--rampup-batch-size 2048 2048 1072164864',
      '--lr-wsd-decay-style 1-sqrt',
      'does not list --xielu, --qknorm-impl, --ademamix-alpha, --ademamix-beta3, --goldfish-loss, --goldfish-k, --optimizer ademamix, --lr-wsd-decay-style 1-sqrt; passed to your program as given, and not priced',
    ],
    [/leave .* out/, /-(?:train|warmup|decay)-iters/],
  ],
  [`layout check ${NEMO}`, 0, ['engine megatron-bridge: supports the whole layout']],
  [`predict ${NEMO} --stack nemo`, 0, [', fp8\n', 20.02], [/, bf16\n/]],
  [
    `predict ${GPT3}`,
    0,
    [', fp8\n', 25.1, 'Assumed: 400 Gb/s of ethernet per GPU between nodes, as is usual for h100'],
  ],
  [`predict ${BRIDGE}/layout.yaml`, 0, [/Step /]],
  [
    `render --job ${BRIDGE}/job.yaml --layout ${BRIDGE}/layout.yaml`,
    0,
    ['coxswain_megatron_bridge.py model.cross_entropy_loss_fusion=true'],
  ],
  [`predict ${TITAN}/layout.yaml`, 0, [secondsAt(652.4)]],
  [`predict ${TITAN}/layout-vanilla.yaml`, 0, [secondsAt(597.3)]],
  [`render --layout ${TITAN}/layout-vanilla.yaml`, 0, ['enable_async_tensor_parallel = false']],
  [`layout check ${AXOLOTL}`, 1, [OWN_PROGRAM]],
  [`render --layout ${AXOLOTL}`, 1, [OWN_PROGRAM]],
  [`predict ${AXOLOTL}`, 1, [OWN_PROGRAM], [/Step /]],
  [
    `layout check ${FSDP}`,
    1,
    ['memory.offload needs memory.hostMemoryGibPerGpu: it becomes the memory request of the pod'],
  ],
  [`predict ${SLURM} --nic efa`, 0, [/Step +2\d\d s/]],
  [`render --layout ${SLURM}`, 0, ['--tensor-model-parallel-size 4', '--pipeline-model-parallel-size 4', '--swiglu']],
  [`layout check ${QWEN}`, 0, ['supports the whole layout']],
  [`render --layout ${QWEN}`, 0, ['"model.moe_token_dispatcher_type": "alltoall"']],
  [`predict ${QWEN}`, 0, [/Step /]],
  [`layout check ${SMALL}`, 0, ['supports the whole layout']],
  [`predict ${SMALL}`, 0, [/Step /]],
  [`render --layout ${SMALL}`, 0, ['--ffn-hidden-size 4096']],
];

const IMPORTS: readonly Case[] = [
  [
    'import 15-import-supporting-objects/job.yaml',
    0,
    [
      'name: pretrain',
      /Not taken \(3\)\n {2}v1 Service store\n/,
      /apps\/v1 Deployment store\n {6}a job needs no store/,
    ],
  ],
  [
    'import 15-import-supporting-objects/claim-and-job.yaml',
    0,
    ['name: pretrain', /Not taken \(2\)\n {2}v1 PersistentVolumeClaim fsx\n {6}it stays as it is/],
  ],
  [
    'import 17-import-devices-and-shm/job.yaml',
    0,
    [
      'runtimeRef:\n    name: rdma-train-pods',
      'examples/runtimes/efa.yaml',
      '/dev/shm\n      every pod has shared memory',
      ...['vpc.amazonaws.com/efa', 'rdma/hca', 'volumes', 'hostNetwork'].map(
        (what) => new RegExp(`runtime rdma-train-pods: .*${what}\\n {6}${RUNTIME.source}`),
      ),
    ],
    [/put the files into the image/],
  ],
  [
    'import 20-import-other-files/job.sbatch',
    0,
    [
      'tensorParallelDegree: 4',
      'pipelineParallelDegree: 2',
      'dataParallelDegree: 4',
      'name the runtime of your cluster in spec.runtimeRef',
    ],
  ],
  [
    'import 20-import-other-files/accelerate.yaml',
    0,
    ['zeroStage: 3', 'implementation: deepspeed', 'dataParallelDegree: 16', '--program'],
  ],
  ['import 20-import-other-files/template.yaml', 1, ['helm template CHART']],
  ['import 20-import-other-files/indexed-job.yaml', 0, ['dataParallelDegree: 64', '- train.py']],
  ['import 20-import-other-files/volcano.yaml', 0, ['dataParallelDegree: 24', '- t.py']],
  [
    'import 21-variables-of-the-old-launcher/trainjob.yaml',
    0,
    ['let the program read GROUP_RANK instead of PET_NODE_RANK', 'let the program read GROUP_WORLD_SIZE instead of'],
  ],
];

describe.each<[string, readonly Case[]]>([
  ['a layout of people', LAYOUTS],
  ['a job file of people', IMPORTS],
])('%s', (_what, cases) => {
  const rows = cases.map(([command, code, must, mustNot = []]) => ({ command, code, must, mustNot }));

  it.each(rows)('$command ends with $code', async ({ command, code, must, mustNot }) => {
    const { code: got, out, err } = await run(command);
    const text = `${out}\n${err}`;
    expect({ got, text }).toEqual({ got: code, text });
    for (const want of must) {
      if (typeof want === 'number') expect({ text, holds: holdsStep(text, want) }).toEqual({ text, holds: true });
      else expect(text).toMatch(want);
    }
    for (const bad of mustNot) expect(text).not.toMatch(bad);
  });
});

describe('degrees in the spelling of each program', () => {
  it.each<[number, RegExp]>([
    [0, /tensorParallelDegree: 4 [^]*pipelineParallelDegree: 8 [^]*dataParallelDegree: 2 /],
    [1, /tensorParallelDegree: 4 [^]*pipelineParallelDegree: 8 [^]*dataParallelDegree: 2 /],
    [2, /tensorParallelDegree: 2 [^]*pipelineParallelDegree: 2 [^]*dataParallelDegree: 8 /],
    [3, /tensorParallelDegree: 2 [^]*dataParallelDegree: 32 [^]*expertParallelDegree: 4/],
    [4, /▸ correct the degrees or the number of nodes: the ranks must be a multiple of 32/],
  ])('of line %i are those of the layout, or a line for the user', async (line, want) => {
    const text = linesOf('19-degrees-in-other-spellings/lines.txt')[line] ?? '';
    const { code, out, err } = await runOffline({}, 'import', '--torchrun', text, '--image', 'i:1');
    expect([code, `${out}\n${err}`]).toEqual([0, expect.stringMatching(want)]);
  });

  it('are read by init as well', async () => {
    const [line = ''] = linesOf('19-degrees-in-other-spellings/init.txt');
    const { code, out } = await runOffline({}, ...line.split(' ').slice(1));
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/tensorParallelDegree: 4 [^]*pipelineParallelDegree: 8 [^]*dataParallelDegree: 2 /),
    ]);
  });
});

it('the best plan of an earlier release is priced with the gradients that are rendered', async () => {
  const best = '14-plan-render-gradients/best.json';
  const asked = '--model llama-3.1-70b --seq 8192 --global-batch 256';
  const rendered = await run(`render --layout ${best} --engine megatron-bridge ${asked}`);
  const priced = await run(`predict ${best} ${asked} --gpu h200 --nic roce --stack megatron-bridge --json`);
  const { prediction } = JSON.parse(priced.out) as { readonly prediction: { readonly memory: readonly StageMemory[] } };
  const gib = (part: string): number => prediction.memory[0]?.parts.find((one) => one.part === part)?.gib ?? NaN;
  const isInFp32 = rendered.out.includes('"grad_reduce_in_fp32": true');
  expect({ isInFp32, perWeight: gib('gradients') / gib('weights') }).toEqual({ isInFp32, perWeight: isInFp32 ? 2 : 1 });
});

interface StageMemory {
  readonly parts: readonly { readonly part: string; readonly gib: number }[];
}

it('every folder of files is tried', () => {
  const tried = readFileSync(import.meta.filename, 'utf8');
  const folders = readdirSync(FILES, { withFileTypes: true }).filter((one) => one.isDirectory());
  expect(folders.map(({ name }) => name).filter((name) => !tried.includes(name))).toEqual([]);
  expect(folders).toHaveLength(16);
});

/** The step time of the benchmark's 256 GPUs from its tokens per second and GPU. */
function secondsAt(tokensPerSPerGpu: number): number {
  return (512 * 8192) / (tokensPerSPerGpu * 256);
}

function holdsStep(text: string, seconds: number): boolean {
  const [, low, high] = /interval: ([\d.]+) s to ([\d.]+) s/.exec(text) ?? [];
  return Number(low) <= seconds && seconds <= Number(high);
}
