import { DatabaseError } from '@coxswain/persistence';
import { CONSTRAINT_SENTENCES, UNREACHABLE_CONSTRAINTS } from './constraint-sentences.ts';
import { toProblem } from './problem.ts';

const violation = (code: string, constraint?: string): DatabaseError =>
  new DatabaseError({ code, message: 'duplicate key value violates it', constraint });

describe('a constraint that a request meets', () => {
  it.each(Object.entries(CONSTRAINT_SENTENCES))('%s is told with what to do', (name, { code, detail }) => {
    expect(toProblem(violation('23505', name))).toMatchObject({ code, detail });
    expect(detail).toMatch(/; (choose|leave|try|read)/);
  });

  it('is told as a conflict when what it refers to is gone', () => {
    expect(toProblem(violation('23503', 'outbox_job_id_fkey'))).toMatchObject({ status: 409, code: 'CONFLICT' });
  });

  it.each([...Object.keys(UNREACHABLE_CONSTRAINTS), 'one_that_nobody_declared', undefined])(
    '%s is a fault of ours, and says nothing of the inside',
    (name) => {
      const problem = toProblem(violation('23514', name));
      expect(problem).toMatchObject({ status: 500, code: 'INTERNAL' });
      expect(problem.detail).not.toMatch(/duplicate/);
    },
  );
});
