import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** A request as it was sent. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
}

/** What came back. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  /** Parsed when it is JSON. */
  readonly body: unknown;
}

interface StatedResponse {
  readonly headers?: Readonly<
    Record<string, { readonly required?: boolean; readonly schema: { readonly type?: string } }>
  >;
  readonly content?: Readonly<Record<string, unknown>>;
}
interface StatedOperation {
  readonly operationId: string;
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, StatedResponse | undefined>>;
}
interface StatedApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, StatedOperation>>>>;
}

/**
 * Holds answers of a real API against what its OpenAPI document states: status, content type, headers, body, and that what was accepted may be sent
 * at all. Throws with what is not stated. A path that the document does not have must be answered 404.
 */
export class StatedAnswers {
  readonly #paths: readonly { readonly template: string; readonly pattern: RegExp }[];
  readonly #api: StatedApi;
  readonly #ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true, validateFormats: true }));
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: unknown) {
    this.#api = document as StatedApi;
    this.#ajv.addSchema({ ...(document as object), $id: 'api' });
    // A word goes before a parameter, as the router has it.
    this.#paths = Object.keys(this.#api.paths)
      .toSorted((a, b) => a.split('{').length - b.split('{').length)
      .map((template) => ({ template, pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}/?$`) }));
  }

  check(asked: Asked, answered: Answered): void {
    const { template, operation } = this.#operationOf(asked);
    if (template === undefined || operation === undefined) {
      this.#hold(answered.status === 404, asked, `is not stated and was answered ${answered.status}`);
      return;
    }
    const at = `#/paths/${escaped(template)}/${asked.method.toLowerCase()}`;
    const response = operation.responses[answered.status];
    if (response === undefined) {
      const stated = Object.keys(operation.responses).join(', ');
      throw this.#fault(
        asked,
        `was answered ${answered.status}, which is not stated (${stated}): ${shown(answered.body)}`,
      );
    }
    this.#checkHeaders(asked, response, answered);
    this.#checkContent(asked, { response, at: `${at}/responses/${answered.status}` }, answered);
    const isAccepted = answered.status < 300 && typeof asked.body === 'object';
    if (isAccepted && operation.requestBody !== undefined) {
      this.#checkBody(asked, `${at}/requestBody/content/${escaped('application/json')}/schema`, asked.body);
    }
  }

  /** An event of a stream: that it has a name that is stated, and data as that says. */
  checkEvent(asked: Asked, event: { readonly name: string; readonly data: unknown }): void {
    const { template, operation } = this.#operationOf(asked);
    const content = operation?.responses['200']?.content?.['text/event-stream'] as
      { readonly schema?: { readonly 'x-coxswain-events'?: object } } | undefined;
    const isStated = Object.keys(content?.schema?.['x-coxswain-events'] ?? {}).includes(event.name);
    this.#hold(isStated, asked, `sent an event ${event.name}, which is not stated`);
    const at = `#/paths/${escaped(template ?? '')}/get/responses/200/content/${escaped('text/event-stream')}`;
    this.#checkBody(asked, `${at}/schema/x-coxswain-events/${event.name}`, event.data);
  }

  #operationOf({ url, method }: Asked): {
    readonly template?: string | undefined;
    readonly operation?: StatedOperation | undefined;
  } {
    const path = url.split('?')[0] ?? '';
    const template = this.#paths.find(({ pattern }) => pattern.test(path))?.template;
    return { template, operation: this.#api.paths[template ?? '']?.[method.toLowerCase()] };
  }

  #checkHeaders(asked: Asked, { headers = {} }: StatedResponse, answered: Answered): void {
    for (const [name, { required, schema }] of Object.entries(headers)) {
      const value = answered.headers[name.toLowerCase()];
      this.#hold(value !== undefined || required !== true, asked, `was answered ${answered.status} without ${name}`);
      if (value === undefined) continue;
      const typed = schema.type === 'integer' ? Number(value) : String(value);
      const isValid = this.#ajv.validate(schema, typed);
      this.#hold(isValid, asked, `was answered with ${name}: ${String(value)}, which is not as stated`);
    }
  }

  #checkContent(
    asked: Asked,
    { response, at }: { readonly response: StatedResponse; readonly at: string },
    { headers, body, status }: Answered,
  ): void {
    const mediaType = String(headers['content-type'] ?? '').split(';')[0] ?? '';
    const stated = Object.keys(response.content ?? {});
    if (stated.length === 0) {
      this.#hold(body === '' || body === undefined, asked, `was answered ${status} with a body, and none is stated`);
      return;
    }
    this.#hold(
      stated.includes(mediaType),
      asked,
      `was answered ${status} as ${mediaType}; stated: ${stated.join(', ')}`,
    );
    this.#checkBody(asked, `${at}/content/${escaped(mediaType)}/schema`, body);
  }

  #checkBody(asked: Asked, pointer: string, body: unknown): void {
    let validate = this.#validators.get(pointer);
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `api${encodeURI(pointer)}` });
      this.#validators.set(pointer, validate);
    }
    if (validate(body) === true) return;
    const faults = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    throw this.#fault(
      asked,
      `has a body that is not as stated at ${pointer}: ${faults.slice(0, 5).join('; ')}; it is ${shown(body)}`,
    );
  }

  #hold(holds: boolean, asked: Asked, fault: string): void {
    if (!holds) throw this.#fault(asked, fault);
  }

  #fault({ method, url }: Asked, fault: string): Error {
    return new Error(`the OpenAPI document is not true: ${method} ${url} ${fault}`);
  }
}

/** As a JSON pointer writes a key. */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function shown(body: unknown): string {
  return JSON.stringify(body)?.slice(0, 300) ?? 'nothing';
}
