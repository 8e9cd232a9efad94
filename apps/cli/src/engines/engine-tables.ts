import { argvLines, type EngineList, type EngineRendering } from '@coxswain/api-types';
import { columns } from '../output/output.ts';
import { refusalText } from '../verdicts/refusal-text.ts';

type Program = NonNullable<EngineRendering['program']>;

/** For people: what is run, one flag in each line, or why nothing is. */
export function renderingText({ engine, program, refusal }: EngineRendering): string {
  if (program === null) {
    const { rule = '', field = '', why = '', fallback = '' } = refusal ?? {};
    return refusalText(engine, { rule, field, why, fallback });
  }
  const { release, startedBy, argv, resumeArgs, env, files, ports, notes } = program;
  return [
    `${engine}${release === null ? '' : ` ${release}`}, ranks started by ${startedBy}`,
    ...part('command', argvLines(argv)),
    ...part('and from a checkpoint', argvLines(resumeArgs)),
    ...part(
      'environment',
      env.map(({ name, value }) => `${name}=${value}`),
    ),
    ...files.flatMap(({ path, text }) => part(`file ${path}`, text.trimEnd().split('\n'))),
    ...part('also', facts(program)),
    ...part(
      'ports',
      ports.map(({ name, port }) => `${port} ${name}`),
    ),
    ...part('notes', notes),
  ].join('\n');
}

function facts({ hostMemoryGibPerGpu, stepLines, checkpointFormat }: Program): readonly string[] {
  return [
    ...(hostMemoryGibPerGpu === null ? [] : [`host memory: ${hostMemoryGibPerGpu} GiB per GPU`]),
    ...(stepLines === null
      ? []
      : [`steps are read from ${stepLines === 'plain' ? 'lines such as step 10 loss 2.31' : `lines of ${stepLines}`}`]),
    ...(checkpointFormat === null ? [] : [`it saves ${checkpointFormat}`]),
  ];
}

/** Nothing where there is nothing. */
function part(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => (line === '' ? '' : `  ${line}`))];
}

/** One line per engine, and below them the layout options that each supports. */
export function enginesText({ items }: EngineList): string {
  const own = items.filter(({ startsJobs }) => startsJobs);
  const others = items.filter(({ startsJobs }) => !startsJobs).map(({ name }) => name);
  const rows = own.map(({ name, releases, needsCommand, startedBy }) => [
    name,
    releasesIn(releases),
    needsCommand ? 'the job gives it' : 'its own',
    startedBy.join(', '),
  ]);
  return [
    columns([['ENGINE', 'RELEASES', 'PROGRAM', 'RANKS STARTED BY'], ...rows]),
    '',
    ...own.flatMap(abilityLines),
    '',
    `Of these only layouts are checked and planned: ${others.join(', ')}.`,
    'docs/reference/engines.md lists the exact arguments of each engine.',
  ].join('\n');
}

function releasesIn(releases: readonly string[]): string {
  const [newest, ...older] = releases;
  if (newest === undefined) return '-';
  const oldest = older.at(-1);
  return oldest === undefined ? newest : `${newest} to ${oldest}`;
}

function abilityLines({ name, abilities }: EngineList['items'][number]): readonly string[] {
  const chosen = ABILITIES.flatMap(([what, of]) => {
    const words = of(abilities);
    return words.length === 0 ? [] : [`  ${what}: ${words.join(', ')}`];
  });
  return [`Layout options that ${name} supports`, ...(chosen.length === 0 ? ['  only its degrees'] : chosen)];
}

const ABILITIES: readonly (readonly [
  string,
  (able: EngineList['items'][number]['abilities']) => readonly unknown[],
])[] = [
  ['schedules', (able) => able.schedules],
  ['context', (able) => able.contextAlgorithms],
  ['ZeRO stages', (able) => able.zeroStages],
  ['optimizers', (able) => able.optimizers],
  ['offload', (able) => able.offloads],
  ['experts by', (able) => able.dispatchers],
  ['precisions', (able) => able.precisions],
  ['checkpoints', (able) => able.checkpointFormats],
];
