import { parseAllDocuments } from 'yaml';
import { renderChart } from './render.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

describe('the metrics port of the operator', () => {
  it.each([
    ['of the chart', [], 'coxswain-metrics'],
    ['of the administrator', ['operator.metrics.tokenSecretName=mine'], 'mine'],
  ])('is scraped with the token in the Secret %s', async (_whose, values, name) => {
    const text = await renderChart({ values: ['podMonitor.enabled=true', ...values] });
    const documents = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
    const secrets = documents.filter((one) => one?.kind === 'Secret' && one.metadata.name === 'coxswain-metrics');
    expect(secrets).toHaveLength(name === 'mine' ? 0 : 1);
    expect(
      documents.find((one) => one?.kind === 'Deployment' && one.metadata.name === 'coxswain-operator'),
    ).toMatchObject({
      spec: {
        template: {
          spec: {
            volumes: expect.arrayContaining([
              { name: 'metrics-token', secret: expect.objectContaining({ secretName: name, optional: true }) },
            ]),
          },
        },
      },
    });
    const monitors = documents.filter((one) => one?.kind === 'PodMonitor');
    expect(monitors.map((one) => one?.metadata.name)).toEqual(['coxswain-api', 'coxswain-operator']);
    expect(monitors[1]).toMatchObject({
      spec: {
        podMetricsEndpoints: [
          { port: 'metrics', authorization: { type: 'Bearer', credentials: { name, key: 'token' } } },
        ],
      },
    });
  });
});
