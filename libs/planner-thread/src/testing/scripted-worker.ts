import { parentPort } from 'node:worker_threads';
import type { PlannerQuestion, PlannerReady, PlannerReply } from '../planner-question.ts';

/** In place of the planner's thread: what it does is the model's name of the request. Answers say which thread answered. */
parentPort?.on('message', (question: PlannerQuestion) => {
  const model = question.kind === 'planJob' ? undefined : question.request.model;
  const reply = (message: PlannerReply): void => parentPort?.postMessage(message);
  switch (model) {
    case 'hangs':
      for (;;);
    case 'throws':
      throw new Error('the thread died');
    case 'exits':
      process.exit(0);
    case 'eats memory': {
      const eaten: number[][] = [];
      for (;;) eaten.push(new Array<number>(100_000).fill(eaten.length));
    }
    case 'refused':
      return reply({
        kind: 'refused',
        code: 'INVALID_REQUEST',
        message: 'no such model',
        violations: [{ pointer: '/model', detail: 'no such model' }],
      });
    default:
      return reply({ kind: 'answered', answer: { calibration: model } as never });
  }
});

parentPort?.postMessage({ kind: 'ready' } satisfies PlannerReady);
