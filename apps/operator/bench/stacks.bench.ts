/**
 * What the stacks of a job cost the thread of the reports, from the frames of its launchers to the answer.
 *
 * Run: `node apps/operator/bench/stacks.bench.ts [PODS]`, default 2,048 of 8 ranks. Three jobs: one that hangs (all ranks in one collective but one, with six
 * helper threads each), one that trains (each rank in one of 200 places, with the same threads), and one that is hostile (every pod sends as much as it may, nothing
 * of it like another's). Frames are parsed, checked and gathered as in the operator; sockets and TLS are left out.
 */
import { LauncherMessage, MAX_STACK_FRAMES, type OperatorMessage, type PodStacks } from '@coxswain/api-types';
import { systemClock } from '@coxswain/kube';
import { parseFrame } from '../src/ingest/launcher-frames.ts';
import { fairShareOf } from '../src/ingest/fair-share.ts';
import { Rendezvous } from '../src/ingest/rendezvous.ts';
import { StackRequests } from '../src/ingest/stack-requests.ts';

const RANKS_PER_POD = 8;
const DEPTH = 25;
const JOB = { jobUid: 'job-1', epoch: 1 };
const PODS = Number(process.argv[2] ?? 2_048);

type Wanted = Extract<OperatorMessage, { kind: 'stacksWanted' }>;
type Group = PodStacks['groups'][number];
type Tell = (pod: number, wanted: Wanted) => readonly Group[];

const ranksOf = (pod: number): string => `${RANKS_PER_POD * pod}-${RANKS_PER_POD * (pod + 1) - 1}`;
const frames = (innermost: string): string[] => [
  innermost,
  ...Array.from({ length: DEPTH - 1 }, (_, depth) => `Module.forward (torch/nn/modules/module.py:${1_700 + depth})`),
];
const helpers = (ranks: string): readonly Group[] =>
  Array.from({ length: 6 }, (_, thread) => ({
    thread: `loader-${thread}`,
    isMain: false,
    frames: [
      'Condition.wait (threading.py:327)',
      `Queue.get (queue.py:${171 + thread})`,
      'Thread.run (threading.py:982)',
    ],
    ranks,
  }));
const first = (ranks: string, innermost: string): Group => ({
  thread: 'MainThread',
  isMain: true,
  frames: frames(innermost),
  ranks,
});

const JOBS: Readonly<Record<string, Tell>> = {
  hangs: (pod) => [
    first(
      ranksOf(pod),
      pod === 7 ? 'next_batch (data.py:31)' : 'all_reduce (torch/distributed/distributed_c10d.py:2911)',
    ),
    ...helpers(ranksOf(pod)),
  ],
  trains: (pod) => [
    ...Array.from({ length: RANKS_PER_POD }, (_, local) => {
      const rank = RANKS_PER_POD * pod + local;
      return first(String(rank), `linear (torch/nn/functional.py:${(rank * 7_919) % 200})`);
    }),
    ...helpers(ranksOf(pod)),
  ],
  'is hostile': (pod, { maxBytes }) => {
    const group = (at: number): Group => ({
      thread: `t${at}`,
      isMain: at % 2 === 0,
      frames: Array.from({ length: MAX_STACK_FRAMES }, (_, depth) => `${pod}.${at}.${depth}`.padEnd(30, '\u0001é')),
      ranks: ranksOf(pod),
    });
    const bytes = Buffer.byteLength(JSON.stringify(group(0)));
    return Array.from({ length: Math.floor(maxBytes / bytes) }, (_, at) => group(at));
  },
};

for (const [name, tell] of Object.entries(JOBS)) await measure(name, tell);

async function measure(name: string, tell: Tell): Promise<void> {
  const rendezvous = new Rendezvous();
  const nodes = Array.from({ length: PODS }, (_, pod) => ({ node: `node-${pod}`, ranks: ranksOf(pod) }));
  const layout = { tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree: PODS };
  const roster = { namespace: 'team', epoch: 1, layout, nodes };
  const requests = new StackRequests({
    rendezvous,
    rosterOf: () => Promise.resolve(roster),
    clock: systemClock,
    kilobytesPerSecond: () => fairShareOf(PODS).kilobytes.perSecond,
  });
  const wanted: Wanted[] = [];
  for (let podIndex = 0; podIndex < PODS; podIndex += 1) {
    const send = (message: OperatorMessage): void => void (message.kind === 'stacksWanted' && wanted.push(message));
    const nobody = (): void => undefined;
    rendezvous.join(JOB, { podIndex, podUid: `pod-${podIndex}`, send, refuse: nobody, replace: nobody });
  }
  const answer = requests.take(JOB);
  while (wanted.length < PODS) await new Promise((resolve) => setImmediate(resolve));
  const told = wanted.map((one, pod) => frameOf(pod, fitting(tell(pod, one), { pod, ...one })));
  globalThis.gc?.();
  const before = { ms: performance.now(), cpu: process.cpuUsage() };
  told.forEach((text, podIndex) => {
    const message = parseFrame(text);
    if (message?.kind !== 'stacks') throw new Error(`the frame of pod ${podIndex} is none`);
    requests.receive({ ...JOB, podIndex }, message.stacks);
  });
  const taken = await answer;
  if (taken.kind !== 'taken') throw new Error(`it is ${taken.kind}`);
  const text = JSON.stringify(taken.stacks);
  const { user, system } = process.cpuUsage(before.cpu);
  const kibibytes = (characters: number): string => `${Math.ceil(characters / 1_024).toLocaleString('en')} KiB`;
  console.log(
    `a job of ${(RANKS_PER_POD * PODS).toLocaleString('en')} ranks that ${name}: ${kibibytes(told.join('').length)} of frames (${kibibytes(told[0]?.length ?? 0)} a pod) in ${Math.round(performance.now() - before.ms)} ms (${Math.round((user + system) / 1_000)} ms of CPU); answered ${taken.stacks.groups.length} stacks in ${kibibytes(text.length)}${taken.stacks.leftOut === '' ? '' : ', some left out'}`,
  );
}

/** As a launcher does it. */
function fitting(groups: readonly Group[], { pod, request, maxBytes }: Wanted & { readonly pod: number }): PodStacks {
  const kept = [...groups];
  while (Buffer.byteLength(JSON.stringify(kept)) > maxBytes - 1_024) kept.pop();
  return { request, groups: kept, silent: [], leftOut: kept.length === groups.length ? '' : ranksOf(pod) };
}

function frameOf(pod: number, stacks: PodStacks): string {
  const envelope = { podUid: `pod-${pod}`, epoch: 1, sequence: 9, rendezvous: null };
  return JSON.stringify(LauncherMessage.parse({ ...envelope, kind: 'stacks', stacks }));
}
