/** What does a fuzzer ask of REST? Made from the OpenAPI document alone, so that a new route is asked by itself. */
import type { Dice } from '../support/random.ts';
import type { Ids, Tenants, Who } from './tenants.ts';
import { HOSTILE_TEXTS, type Schema, Values } from './values.ts';

/** A request that is ready to be sent. */
export interface Ask {
  readonly operation: string;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly who: Who;
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly schema: Schema;
}

/** An operation of the document. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly template: string;
  readonly isPublic: boolean;
  readonly isStream: boolean;
  readonly roles: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: Schema; readonly examples: readonly unknown[] } | undefined;
}

interface Stated {
  readonly security: readonly { readonly token?: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly examples?: object }>>;
  };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

/** Every operation of an OpenAPI document of ours. */
export function operationsOf(document: unknown): readonly Operation[] {
  const { paths } = document as { readonly paths: Readonly<Record<string, Readonly<Record<string, Stated>>>> };
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, stated]): Operation => {
      const content = stated.requestBody?.content['application/json'];
      const types = Object.keys(stated.responses['200']?.content ?? {});
      return {
        name: `${method.toUpperCase()} ${template}`,
        method: method.toUpperCase(),
        template,
        isPublic: stated.security.length === 0,
        // What is answered as text about a job goes on for as long as the job does; a table ends.
        isStream: template.startsWith('/v1/') && types.some((type) => type.startsWith('text/') && type !== 'text/csv'),
        roles: stated.security.flatMap(({ token }) => token ?? []),
        parameters: stated.parameters ?? [],
        body:
          content === undefined
            ? undefined
            : {
                schema: content.schema,
                examples: Object.values(content.examples ?? {}).map((example) => (example as { value: unknown }).value),
              },
      };
    }),
  );
}

const SIGN_IN = '/v1/sign-in/tokens';
const SIGN_OUT = '/v1/sign-out';

/** How a request is meant to go. */
type Intent = 'well' | 'mutated' | 'foreign' | 'unknown';

/** Makes requests, one operation after the other. */
export class RestRequests {
  readonly #operations: readonly Operation[];
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #tenants: Tenants;
  #turn = 0;

  constructor(document: unknown, { dice, tenants }: { readonly dice: Dice; readonly tenants: Tenants }) {
    this.#operations = operationsOf(document).filter(({ isStream }) => !isStream);
    this.#dice = dice;
    this.#values = new Values(dice, document);
    this.#tenants = tenants;
  }

  next(): Ask {
    const operation = this.#operations[this.#turn++ % this.#operations.length];
    if (operation === undefined) throw new Error('the document has no operation');
    // A question to the planner takes as long as hundreds of others.
    if (operation.name === 'POST /v1/projects/{project}/plans' && !this.#dice.chance(0.1)) return this.next();
    const roll = this.#dice.below(100);
    return this.#ask(operation, roll < 45 ? 'well' : roll < 75 ? 'mutated' : roll < 90 ? 'foreign' : 'unknown');
  }

  #ask(operation: Operation, intent: Intent): Ask {
    const dice = this.#dice;
    const who = this.#whoFor(operation, intent);
    const ids = intent === 'foreign' ? this.#tenants.foreign : this.#tenants.own;
    const isForeignProject = intent === 'foreign' && dice.chance(0.5);
    const path = operation.template.replace(/\{(\w+)\}/g, (_all, name: string) => {
      if (intent === 'mutated' && dice.chance(0.1))
        return encodeURIComponent(wellFormed(dice.pick(HOSTILE_TEXTS)) || '-');
      if (name === 'project') return (isForeignProject ? this.#tenants.foreign : this.#tenants.own).project;
      return ids.pick(operation.template, name, dice) ?? '3f1c2b9e-0000-4000-8000-000000000001';
    });
    const query = this.#query(operation, intent);
    const body = this.#body(operation, intent);
    return {
      operation: operation.name,
      method: operation.method,
      url: query === '' ? path : `${path}?${query}`,
      headers: {
        ...this.#headers(operation, intent),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body,
      who,
    };
  }

  /** For a request that is to go well somebody who may; else anybody. Administrators of the cluster see everything, so they only go where nobody else may. */
  #whoFor({ template, roles, isPublic }: Operation, intent: Intent): Who {
    const { members, sessions } = this.#tenants;
    if (template === SIGN_OUT && intent === 'well') return sessions.pop() ?? this.#dice.pick(members);
    if (isPublic) return this.#tenants.nobody;
    if (intent === 'unknown') return this.#dice.pick([this.#tenants.nobody, this.#tenants.stranger, ...members]);
    if (intent !== 'well') return this.#dice.pick(members);
    const able = members.filter(({ role }) => roles.length === 0 || roles.includes(role));
    return able.length === 0 ? this.#tenants.administrator : this.#dice.pick(able);
  }

  #query({ parameters }: Operation, intent: Intent): string {
    const dice = this.#dice;
    const parts = parameters.flatMap(({ in: place, name, schema }) => {
      if (place !== 'query' || dice.chance(0.6)) return [];
      // A token of a page is what a page gave, and nothing else.
      if (intent !== 'mutated' && name === 'pageToken') return [];
      if (intent !== 'mutated' && name === 'project') return [`project=${this.#tenants.own.project}`];
      const value = intent === 'mutated' ? this.#values.hostile() : this.#values.of(schema);
      return [`${encodeURIComponent(name)}=${encodeURIComponent(wellFormed(textOf(value)))}`];
    });
    if (intent === 'mutated' && dice.chance(0.1))
      parts.push(`${encodeURIComponent(dice.pick(['a', '__proto__', '']))}=1`);
    return parts.join('&');
  }

  #headers({ parameters }: Operation, intent: Intent): Record<string, string> {
    const dice = this.#dice;
    const chosen = parameters.filter((parameter) => parameter.in === 'header' && dice.chance(0.25));
    return Object.fromEntries(
      chosen.map(({ name, schema }) => {
        const hostile = dice.pick(['""', 'W/"1"', '"a","b"', '*', '-1', ','.repeat(100), 'x'.repeat(300), "'; --"]);
        const text = name === 'Idempotency-Key' ? `key-${dice.below(1e9)}` : textOf(this.#values.of(schema));
        return [name, intent === 'well' ? text : dice.chance(0.5) ? text : hostile];
      }),
    );
  }

  #body({ body, method, template }: Operation, intent: Intent): string | undefined {
    const dice = this.#dice;
    if (template === SIGN_IN && intent === 'well') return JSON.stringify({ idToken: this.#tenants.idToken() });
    if (body === undefined) return method === 'GET' || intent !== 'mutated' || dice.chance(0.7) ? undefined : '{"a":1}';
    const isExample = body.examples.length > 0 && dice.chance(0.6);
    const value = freshlyNamed(isExample ? dice.pick(body.examples) : this.#values.of(body.schema), dice);
    if (intent !== 'mutated')
      return JSON.stringify(
        intent === 'well' && !isExample && dice.chance(0.5) ? freshlyNamed(body.examples[0], dice) : value,
      );
    const text = JSON.stringify(this.#values.mutated(value)) ?? '';
    if (dice.chance(0.9)) return text;
    return dice.pick([
      text.slice(0, dice.below(text.length + 1)),
      `${'['.repeat(50_000)}`,
      `[${'{},'.repeat(349_000)}{}]`,
      '',
      'null',
      `"${'x'.repeat(1_100_000)}"`,
      '{"a":1,"a":2}',
    ]);
  }
}

/** The same with another name, so that it is not taken. */
function freshlyNamed(value: unknown, dice: Dice): unknown {
  if (typeof value !== 'object' || value === null || !('name' in value)) return value;
  const name = `n${dice.below(1e9).toString(36)}`;
  return { ...value, name, ...('namespaces' in value ? { namespaces: [name] } : {}) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Halves of surrogate pairs cannot stand in an address. */
function wellFormed(text: string): string {
  return text.toWellFormed().slice(0, 4_000);
}

export type { Ids };
