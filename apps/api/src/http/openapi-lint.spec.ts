import { createConfig, lintFromString } from '@redocly/openapi-core';
import { CONTROLLERS } from '../app.module.ts';
import { openApiDocument } from './openapi-document.ts';

/**
 * Redocly's rules for whoever makes a client or reads the document. Left out: descriptions of tags and operations (each has a summary), a 2xx and a 4xx for
 * each operation (`openapi.spec.ts` knows which are public), and a server of a real host (it is served where it is read).
 */
const RULES = {
  struct: 'error',
  'no-unresolved-refs': 'error',
  'no-unused-components': 'error',
  'no-duplicated-tag-names': 'error',
  'no-identical-paths': 'error',
  'no-ambiguous-paths': 'off',
  'no-path-trailing-slash': 'error',
  'path-declaration-must-exist': 'error',
  'path-not-include-query': 'error',
  'path-parameters-defined': 'error',
  'path-segment-plural': 'off',
  // "goodput" holds no verb.
  'no-http-verbs-in-paths': { severity: 'error', splitIntoWords: true },
  'operation-operationId': 'error',
  'operation-operationId-unique': 'error',
  'operation-operationId-url-safe': 'error',
  'operation-parameters-unique': 'error',
  'operation-summary': 'error',
  'operation-singular-tag': 'error',
  'operation-tag-defined': 'error',
  'operation-2xx-response': 'off',
  'parameter-description': 'error',
  'request-mime-type': { severity: 'error', allowedValues: ['application/json', 'application/gzip'] },
  'response-mime-type': {
    severity: 'error',
    allowedValues: ['application/json', 'application/problem+json', 'text/csv', 'text/event-stream', 'text/plain'],
  },
  'response-contains-header': 'off',
  'security-defined': 'error',
  'info-license': 'error',
  'info-license-strict': 'error',
  'no-empty-servers': 'error',
  'no-enum-type-mismatch': 'error',
  'no-example-value-and-externalValue': 'error',
  'no-invalid-media-type-examples': 'error',
  'no-invalid-parameter-examples': 'error',
  'no-invalid-schema-examples': 'error',
  'no-required-schema-properties-undefined': 'error',
  'no-schema-type-mismatch': 'error',
  'spec-components-invalid-map-name': 'error',
  'scalar-property-missing-example': 'off',
} as const;

/** What the linter finds, a line for each. */
async function lint(document: object): Promise<readonly string[]> {
  const config = await createConfig({ rules: RULES });
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`);
}

describe('the OpenAPI document', () => {
  it('breaks no rule of the linter', async () => {
    expect(await lint(openApiDocument(CONTROLLERS))).toEqual([]);
  });

  it('would be told of a reference that leads nowhere, of a parameter without a word, and of an example that may not be sent', async () => {
    const document = structuredClone(openApiDocument(CONTROLLERS)) as {
      paths: Record<string, unknown>;
      components: { schemas: { LayoutCreateInput: { examples: unknown[] } } };
    };
    document.paths['/planted'] = {
      get: {
        operationId: 'planted',
        summary: 'Planted',
        parameters: [{ in: 'query', name: 'q', schema: { $ref: '#/components/schemas/Nothing' } }],
        responses: { '200': { description: 'planted' } },
      },
    };
    document.components.schemas.LayoutCreateInput.examples = [{ name: 7 }];
    const findings = (await lint(document)).join('\n');
    for (const rule of ['no-unresolved-refs', 'parameter-description', 'no-invalid-schema-examples'])
      expect(findings).toContain(rule);
  });
});
