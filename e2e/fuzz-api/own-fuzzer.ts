/** Our own fuzzer: requests to REST and GraphQL with two tenants, several at once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StatedAnswers } from '@coxswain/test-harness';
import { buildSchema } from 'graphql';
import type { Dice } from '../support/random.ts';
import { GraphqlRequests } from './documents.ts';
import type { Findings } from './findings.ts';
import { operationsOf, RestRequests } from './requests.ts';
import { Sender } from './sender.ts';
import type { FuzzWorld } from './world.ts';

const SCHEMA = join(import.meta.dirname, '../../apps/api/src/graphql/schema.generated.graphql');
const AT_ONCE = 8;
/** The run ends after so many violations: they are often of one kind. */
const MAX_VIOLATIONS = 20;

/** When the fuzzer stops, and what it reports. */
export interface FuzzRun {
  readonly isOver: () => boolean;
  readonly report?: (sentence: string) => void;
}

/** Sends requests until the signal, and compares every REST answer with the OpenAPI document. */
export class OwnFuzzer {
  readonly #findings: Findings;
  readonly #sender: Sender;
  readonly #rest: RestRequests;
  readonly #graphql: GraphqlRequests;

  constructor(
    place: Pick<FuzzWorld, 'url' | 'tenants'>,
    { document, dice, findings }: { readonly document: unknown; readonly dice: Dice; readonly findings: Findings },
  ) {
    const { tenants } = place;
    this.#findings = findings;
    this.#sender = new Sender(place, findings, new StatedAnswers(document));
    this.#rest = new RestRequests(document, { dice, tenants });
    this.#graphql = new GraphqlRequests(buildSchema(readFileSync(SCHEMA, 'utf8')), {
      dice,
      tenants,
      examples: bodiesByType(document),
    });
    for (const { name } of operationsOf(document)) findings.know(name);
    for (const name of this.#graphql.operations) findings.know(name);
  }

  async run({ isOver, report }: FuzzRun): Promise<void> {
    let sent = 0;
    const asker = async (): Promise<void> => {
      while (!isOver() && this.#findings.violations.length < MAX_VIOLATIONS) {
        if (sent++ % 3 === 0) await this.#sender.askGraphql(this.#graphql.next());
        else await this.#sender.ask(this.#rest.next());
        if (sent % 10_000 === 0) report?.(`${this.#findings.total} requests so far.`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, asker));
  }
}

/** Examples of bodies by the name of their type, which GraphQL uses too. */
function bodiesByType(document: unknown): ReadonlyMap<string, unknown> {
  return new Map(
    operationsOf(document).flatMap(({ body }) => {
      const name = /([^/]+)$/.exec(body?.schema.$ref ?? body?.schema.allOf?.[0]?.$ref ?? '')?.[1];
      return name === undefined || body === undefined ? [] : [[name, body.examples[0]] as const];
    }),
  );
}
