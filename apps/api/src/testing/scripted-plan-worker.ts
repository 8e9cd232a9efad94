import { parentPort } from 'node:worker_threads';
import type { PlanningReply, PlanningTask } from '../plans/planning-thread.ts';

/** In place of the planner's thread: what it does is the model's name of the request. */
parentPort?.on('message', ({ request }: PlanningTask) => {
  const reply = (message: PlanningReply): void => parentPort?.postMessage(message);
  switch (request.model) {
    case 'hangs':
      for (;;);
    case 'dies':
      throw new Error('the thread died');
    case 'refused':
      return reply({ kind: 'refused', code: 'INVALID_REQUEST', message: 'no such model', violations: [] });
    default:
      return reply({ kind: 'answered', answer: { calibration: request.model } as never });
  }
});
