import type { Sql } from '@coxswain/persistence';

/** What the database answers to statements that match: rows, or rows by parameters. */
export type ScriptedAnswer = readonly [
  statement: RegExp,
  rows: readonly object[] | ((parameters: readonly unknown[]) => readonly object[]),
];

/** A database that answers from a script, in place of a real one where the rule is what is done with the rows. */
export function scriptedSql(answers: readonly ScriptedAnswer[]): Sql & { readonly statements: readonly string[] } {
  const statements: string[] = [];
  return {
    statements,
    query: <Row>(text: string, parameters: readonly unknown[] = []) => {
      statements.push(text);
      const answer = answers.find(([statement]) => statement.test(text))?.[1] ?? [];
      const rows = typeof answer === 'function' ? answer(parameters) : answer;
      return Promise.resolve({ rows: rows as readonly Row[], affected: rows.length });
    },
  };
}
