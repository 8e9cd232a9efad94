import { writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { PlannerQuestion, PlannerReady, PlannerReply } from './planner-question.ts';
import type { Watched } from './watch.ts';

const MIB = 2 ** 20;
/** Garbage is collected after a search if it exceeds this share of the memory limit, so that it does not count for the next search. */
const MAX_GARBAGE_SHARE = 0.6;

/**
 * Runs in the search process, which `search-process.ts` starts: answers one question at a time until the parent ends. An error of `replyTo` is a defect and ends
 * the process; the parent then rejects the question.
 */
export function answerQuestions(replyTo: (question: PlannerQuestion) => PlannerReply | Promise<PlannerReply>): void {
  const [parentPid, mostMib] = process.argv.slice(2).map(Number) as [number, number];
  preferOomKill();
  process.once('disconnect', () => process.exit());
  const watch = new Worker(new URL('./watch.ts', import.meta.url), {
    workerData: { parentPid, mostMib } satisfies Watched,
  });
  // Searches start once the watch runs; earlier questions wait in the channel.
  watch.once('online', () => {
    const answer = async (question: PlannerQuestion): Promise<void> => {
      watch.postMessage('begins');
      const reply = await replyTo(question);
      watch.postMessage('ends');
      // The parent ends this process with SIGKILL, and Node writes compiled code only at an orderly end.
      flushCompileCache();
      post(reply);
      if (process.memoryUsage.rss() > MAX_GARBAGE_SHARE * mostMib * MIB) void globalThis.gc?.();
    };
    // A rejection is a defect: Node ends the process.
    process.on('message', (question: PlannerQuestion) => void answer(question));
    post({ kind: 'ready' });
  });
}

function post(message: PlannerReady | PlannerReply): void {
  process.send?.(message);
}

/**
 * If memory runs out, the kernel kills this process rather than its parent (unless the cgroup kills all processes), and a core dump contains no memory. Only
 * Linux has these files.
 */
function preferOomKill(): void {
  for (const [file, value] of [
    ['oom_score_adj', '1000'],
    ['coredump_filter', '0'],
  ] as const) {
    try {
      writeFileSync(`/proc/self/${file}`, value);
    } catch {
      // Not essential for the search.
    }
  }
}
