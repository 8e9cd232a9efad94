import { z } from 'zod';

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
  .meta({ id: 'GraphqlRequest' });
export type GraphqlRequest = z.infer<typeof GraphqlRequest>;
