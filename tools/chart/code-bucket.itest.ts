import { renderChart } from './render.ts';

const URI = 'codeBucket.uri=s3://training/code';
/** Variables of one program that begin with COXSWAIN_CODE. */
async function variablesOf(program: 'api' | 'operator', ...values: readonly string[]): Promise<readonly string[]> {
  const text = await renderChart({ templates: [`templates/${program}.yaml`], values });
  return [...text.matchAll(/- name: (COXSWAIN_CODE_BUCKET\w*)/g)].map(([, name = '']) => name);
}

describe('the bucket for code', () => {
  it('is read by API and operator, with its credentials from a Secret', async () => {
    for (const program of ['api', 'operator'] as const) {
      const all = ['URI', 'ENDPOINT', 'KEY_ID', 'KEY'].map((name) => `COXSWAIN_CODE_BUCKET_${name}`);
      expect(await variablesOf(program, URI, 'codeBucket.endpoint=http://minio:9000')).toEqual(all);
      expect(await variablesOf(program, URI)).toEqual(all.filter((name) => !name.endsWith('ENDPOINT')));
      expect(await variablesOf(program)).toEqual([]);
    }
  });

  it.each([
    ['http://minio.storage:9000', '9000'],
    ['http://minio.storage', '80'],
    ['https://minio.storage', '443'],
    ['http://10.0.0.5', '80'],
    ['https://minio1', '443'],
  ])('is reached by the API at %s, on port %s', async (endpoint, port) => {
    const values = [URI, `codeBucket.endpoint=${endpoint}`];
    const text = await renderChart({ templates: ['templates/api.yaml'], values });
    expect(text).toContain(`# The bucket for code.\n    - ports: [{ port: ${port} }]`);
  });

  it('needs its Secret to be named', async () => {
    await expect(renderChart({ values: [URI, 'codeBucket.credentialsSecret='] })).rejects.toThrow(
      'codeBucket.credentialsSecret is needed with codeBucket.uri',
    );
  });
});
