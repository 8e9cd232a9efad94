import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Denials } from '../auth/denials.ts';
import type { AnswerTurns } from '../limits/answer-turns.ts';
import type { ProjectLimits } from '../limits/project-limits.ts';
import { aPrincipal } from '../testing/a-principal.ts';
import { GraphqlController } from './graphql.controller.ts';
import type { GraphqlCaller, GraphqlEngine } from './graphql-engine.ts';

/** What is counted of a document with these fields at its root. */
async function countedOf(fields: readonly string[], isMutation: boolean): Promise<readonly string[]> {
  const counted: string[] = [];
  const engine: Pick<GraphqlEngine, 'run'> = {
    run: (_request, { charge }: GraphqlCaller) => {
      charge?.({ fields, isMutation });
      return Promise.resolve({ kind: 'ran', result: {} });
    },
  };
  const limits: Pick<ProjectLimits, 'charge' | 'chargeWrites'> = {
    charge: (_principal, requests) => void counted.push(`${requests} requests`),
    chargeWrites: (_principal, { writes, stops }) => void counted.push(`${writes} writes`, `${stops} stops`),
  };
  const controller = new GraphqlController(
    engine as GraphqlEngine,
    limits as ProjectLimits,
    {} as Denials,
    {} as AnswerTurns,
  );
  const reply = { raw: new EventEmitter() } as unknown as FastifyReply;
  await controller.run(aPrincipal(), { query: '' }, { id: 'r' } as FastifyRequest, reply);
  return counted;
}

describe('a GraphQL request', () => {
  it.each<[string, readonly string[], boolean, readonly string[]]>([
    ['that reads counts each further field as a request', ['jobs', 'job'], false, ['1 requests']],
    [
      'that changes counts each field as a write',
      ['labelJob', 'createJob'],
      true,
      ['1 requests', '2 writes', '0 stops'],
    ],
    [
      'that stops jobs counts as REST does: apart from other writes',
      ['suspendJob', 'cancelJob', 'deleteJob', 'resumeJob'],
      true,
      ['3 requests', '1 writes', '3 stops'],
    ],
  ])('%s', async (_sentence, fields, isMutation, want) => {
    expect(await countedOf(fields, isMutation)).toEqual(want);
  });
});
