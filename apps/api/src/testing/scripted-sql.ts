import type { NamedStatement, Sql, TenantDatabase } from '@coxswain/persistence';

/** What the database answers to statements that match: rows, or rows by parameters. */
export type ScriptedAnswer = readonly [
  statement: RegExp,
  rows: readonly object[] | ((parameters: readonly unknown[]) => readonly object[]),
];

/** A database that answers from a script, in place of a real one where the rule is what is done with the rows. */
export function scriptedSql(
  answers: readonly ScriptedAnswer[],
): Sql & Pick<TenantDatabase, 'call'> & { readonly statements: readonly string[] } {
  const statements: string[] = [];
  const rowsOf = <Row>(text: string, parameters: readonly unknown[] = []): readonly Row[] => {
    statements.push(text);
    const answer = answers.find(([statement]) => statement.test(text))?.[1] ?? [];
    return (typeof answer === 'function' ? answer(parameters) : answer) as readonly Row[];
  };
  return {
    statements,
    query: <Row>(statement: string | NamedStatement, parameters?: readonly unknown[]) => {
      const rows = rowsOf<Row>(typeof statement === 'string' ? statement : statement.text, parameters);
      return Promise.resolve({ rows, affected: rows.length });
    },
    call: <Row>(name: string, parameters: readonly unknown[]) => Promise.resolve(rowsOf<Row>(name, parameters)),
  };
}
