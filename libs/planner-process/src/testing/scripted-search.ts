import { openSync, writeSync } from 'node:fs';
import { answerQuestions } from '../answer-questions.ts';
import type { PlannerQuestion, PlannerReply } from '../planner-question.ts';

/** Replaces the planner in tests: the model name of the request decides what it does, and answers repeat it. */
answerQuestions((question: PlannerQuestion): PlannerReply => {
  const model = 'request' in question ? String(question.request.model) : '';
  const [deed, path = ''] = model.split(':');
  switch (deed) {
    case 'hangs':
      for (;;);
    case 'throws':
      throw new Error('the planner has a defect');
    case 'exits':
      process.exit(0);
    case 'eats many small objects': {
      const eaten: number[][] = [];
      for (;;) eaten.push(Array.from({ length: 10 }, () => eaten.length));
    }
    case 'eats huge arrays': {
      const eaten: number[][] = [];
      for (;;) eaten.push(new Array<number>(10_000_000).fill(eaten.length));
    }
    case 'eats one array larger than any':
      return answered(String('x'.repeat(2 ** 28).split('').length));
    case 'eats memory beside the heap': {
      const eaten: Float64Array[] = [];
      for (;;) eaten.push(new Float64Array(100_000).fill(1));
    }
    case 'says what it knows of its surroundings':
      return answered(JSON.stringify(Object.keys(process.env)));
    case 'opens':
      writeSync(openSync(path, 'w'), 'open');
      return answered(model);
    case 'opens and hangs':
      writeSync(openSync(path, 'w'), 'open');
      for (;;);
    case 'refused':
      return {
        kind: 'refused',
        code: 'INVALID_REQUEST',
        message: 'no such model',
        violations: [{ pointer: '/model', detail: 'no such model' }],
      };
    default:
      return answered(model);
  }
});

function answered(calibration: string): PlannerReply {
  return { kind: 'answered', answer: { calibration } as never };
}
