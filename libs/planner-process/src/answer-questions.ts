import { writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { PlannerQuestion, PlannerReady, PlannerReply } from './planner-question.ts';
import type { Watched } from './watch.ts';

const MIB = 2 ** 20;
/** A search that left more than this share of the bound behind has it collected, or the next one would be blamed for it. */
const MAX_GARBAGE_SHARE = 0.6;

/**
 * The side of the process that searches (`search-process.ts` starts it): answers one question at a time until its parent has gone. Whatever
 * `replyTo` throws is a defect and ends the process; whoever asked is told.
 */
export function answerQuestions(replyTo: (question: PlannerQuestion) => PlannerReply): void {
  const [parentPid, mostMib] = process.argv.slice(2).map(Number) as [number, number];
  preferOomKill();
  process.once('disconnect', () => process.exit());
  const watch = new Worker(new URL('./watch.ts', import.meta.url), {
    workerData: { parentPid, mostMib } satisfies Watched,
  });
  // Nothing is searched before the watch looks; what is asked meanwhile waits in the channel.
  watch.once('online', () => {
    process.on('message', (question: PlannerQuestion) => {
      watch.postMessage('begins');
      const reply = replyTo(question);
      watch.postMessage('ends');
      tell(reply);
      if (process.memoryUsage.rss() > MAX_GARBAGE_SHARE * mostMib * MIB) void globalThis.gc?.();
    });
    tell({ kind: 'ready' });
  });
}

function tell(message: PlannerReady | PlannerReply): void {
  process.send?.(message);
}

/**
 * Where the memory of all processes ends the kernel ends this one and not its parent, unless it was told to end all of a container's; and a core
 * that is dumped holds none of it. Kernels other than Linux have no such files.
 */
function preferOomKill(): void {
  for (const [file, value] of [
    ['oom_score_adj', '1000'],
    ['coredump_filter', '0'],
  ] as const) {
    try {
      writeFileSync(`/proc/self/${file}`, value);
    } catch {
      // It is searched as well without.
    }
  }
}
