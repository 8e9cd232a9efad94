import { z } from 'zod';

/** What GraphQL answers (its specification, section 7). */
export const GraphqlAnswer = z
  .object({
    data: z.record(z.string(), z.unknown()).nullable().optional().describe('Absent: nothing ran.'),
    errors: z
      .array(
        z.object({
          message: z.string(),
          locations: z.array(z.object({ line: z.int(), column: z.int() })).optional(),
          path: z.array(z.string().or(z.int())).optional(),
          extensions: z
            .object({
              code: z.string().describe('As in the problem documents of REST.'),
              errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
            })
            .optional(),
        }),
      )
      .optional(),
  })
  .meta({ id: 'GraphqlAnswer' });

/** Body of `POST /graphql`. One document at a time: there are no batches. */
export const GraphqlRequest = z
  .strictObject({
    query: z.string().min(1).max(15_000).describe('A GraphQL document; put long inputs into variables.'),
    variables: z.record(z.string(), z.unknown()).nullish(),
    operationName: z
      .string()
      .max(200)
      .regex(/^[_A-Za-z][_0-9A-Za-z]*$/, 'must be a GraphQL name: letters, digits and "_"')
      .nullish(),
    extensions: z.record(z.string(), z.unknown()).nullish().describe('Sent by some clients; not looked at.'),
  })
  .meta({
    id: 'GraphqlRequest',
    examples: [
      {
        query: 'query ($project: String!) { jobs(project: $project, pageSize: 10) { items { name state } } }',
        variables: { project: 'research' },
      },
    ],
  });
export type GraphqlRequest = z.infer<typeof GraphqlRequest>;
