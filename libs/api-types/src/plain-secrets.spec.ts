import { plainSecrets } from './index.ts';
import { letters } from './testing/one-field.ts';

const some = (count: number): string => 'aB3'.repeat(count).slice(0, count);
/** Made up here, so that no scanner takes this file for a leak. */
const PEM = (kind: string): string => `-----BEGIN ${kind}-----\nMIIE\n-----END ${kind}-----`;

describe('a plain value that looks like a credential', () => {
  it.each<[string, string]>([
    ['a Hugging Face token', `hf_${some(34)}`],
    ['a Hugging Face token', `api_org_${some(34)}`],
    ['a GitHub token', `ghp_${some(36)}`],
    ['a GitHub token', `ghs_${some(36)}`],
    ['a GitHub token', `github_pat_${some(22)}_${some(59)}`],
    ['a GitLab token', `glpat-${some(20)}`],
    ['an AWS access key', `AKIA${'ABCD2345'.repeat(2)}`],
    ['an AWS access key', `ASIA${'ABCD2345'.repeat(2)}`],
    ['an API key of OpenAI', `sk-${some(48)}`],
    ['an API key of OpenAI', `sk-proj-${some(60)}-_${some(60)}`],
    ['an API key of Anthropic', `sk-ant-api03-${some(93)}AA`],
    ['a Google API key', `AIza${some(35)}`],
    ['a Slack token', `xoxb-1234567890-1234567890-${some(24)}`],
    ['a Coxswain token', `cxs_0a1b2c3d_${some(43)}`],
    ['a private key', PEM('PRIVATE KEY')],
    ['a private key', PEM('RSA PRIVATE KEY')],
    ['a private key', PEM('OPENSSH PRIVATE KEY')],
    ['a private key', PEM('PGP PRIVATE KEY BLOCK')],
    ['the key file of a Google service account', '{"type": "service_account", "private_key_id" : "0a1b"}'],
    ['a URL with a password', 'postgres://trainer:letmein@db:5432/runs'],
    ['a URL with a password', 'redis://:letmein@cache'],
    ['a signed URL', `https://s3/x?X-Amz-Expires=9&X-Amz-Signature=${'0a'.repeat(32)}`],
    ['a signed URL', `https://x.blob.core.windows.net/c?sv=1&sig=${some(43)}%3D`],
  ])('as %s is found in a variable, in a command and within an argument', (what, value) => {
    const found = plainSecrets({
      env: [
        { name: 'FINE', value: 'fine' },
        { name: 'SOMETHING', value: ` ${value}\n` },
      ],
      command: ['run', value],
      args: [`--option=${value}`],
    });
    expect(found.map(({ path }) => path.join('.'))).toEqual(['env.1.value', 'command.1', 'args.0']);
    for (const { message } of found) {
      expect(message).toMatch(`looks like ${what};`);
      expect(message).not.toContain(value);
      expect(message).toMatch(/a Secret whose name begins with "job-", and reference that Secret in engine.secretEnv/);
    }
  });

  it.each<[string, string]>([
    ['WANDB_API_KEY', '0a'.repeat(20)],
    ['AWS_SECRET_ACCESS_KEY', some(40)],
    ['AWS_SECRET_ACCESS_KEY', `/${some(39)}`],
    ['AWS_SESSION_TOKEN', some(300)],
    ['HF_TOKEN', 'something'],
    ['HUGGING_FACE_HUB_TOKEN', 'something'],
    ['GITHUB_TOKEN', 'something'],
    ['OPENAI_API_KEY', 'something'],
    ['COMET_API_KEY', 'something'],
    ['S3_SECRET_KEY', 'something'],
    ['MLFLOW_TRACKING_PASSWORD', 'letmein'],
    ['PGPASSWORD', 'letmein'],
    ['db_password', 'letmein'],
    ['PASSWORD', 'letmein'],
    ['CLIENT_SECRET', 'something'],
    ['SERVICE_ACCESS_TOKEN', 'something'],
  ])('is found by the name of its variable, %s', (name, value) => {
    const [found, ...others] = plainSecrets({ env: [{ name, value }] });
    expect(others).toEqual([]);
    expect(found?.path).toEqual(['env', 0, 'value']);
    expect(found?.message).toMatch(/looks like a credential, by the name of its variable;/);
    expect(found?.message).not.toContain(value);
  });

  it.each<[string, string]>([
    ['HF_TOKEN', ''],
    ['OPENAI_API_KEY', 'EMPTY'],
    ['HF_TOKEN_PATH', '/coxswain/secrets/job-hf/token'],
    ['DB_PASSWORD', '/coxswain/secrets/job-db/password'],
    ['AWS_SHARED_CREDENTIALS_FILE', '/coxswain/secrets/job-aws/credentials'],
    ['GOOGLE_APPLICATION_CREDENTIALS', '/coxswain/secrets/job-gcp/key.json'],
    ['HF_HUB_DISABLE_IMPLICIT_TOKEN', '1'],
    ['HF_HUB_ENABLE_HF_TRANSFER', '1'],
    ['TOKENIZERS_PARALLELISM', 'false'],
    ['MAX_TOKENS', '4096'],
    ['PAD_TOKEN', '<pad>'],
    ['EOS_TOKEN', '<|endoftext|>'],
    ['IMAGE_TOKEN', '<image>'],
    ['SECRET_SAUCE', 'rope'],
    ['COMMIT', '0a'.repeat(20)],
    ['DIGEST', `sha256:${'0a'.repeat(32)}`],
    ['DATASET', `https://example.org/a:b/c@main?sig=v4`],
    ['REPOSITORY', 'git@github.com:org/repository.git'],
    ['MASTER', 'tcp://10.0.0.1:29500'],
    ['HTTPS_PROXY', 'http://proxy.example.org:3128'],
    ['CONTACT', 'http://example.org/x:y@z'],
    ['RUN', `disk-${letters(60)}`],
    ['MODEL', 'hf_meta-llama/Llama-3'],
    ['MODEL', `hf_${letters(33)}`],
    ['BUCKET', 'sk-learn-models-of-2026-in-the-large-bucket-of-the-team'],
    ['KEY', 'AKIABCDEFGHIJKLMNOPQRSTUVWXYZ'],
    ['PUBLIC_KEY', PEM('PUBLIC KEY')],
    ['CA', PEM('CERTIFICATE')],
    ['CONFIG', '{"type": "service_account_reader", "private_key": ""}'],
    ['ENGINE_FAULT', '{"rank": 1, "step": 25, "kind": "exit"}'],
  ])('is not what %s=%j is', (name, value) => {
    expect(plainSecrets({ env: [{ name, value }], args: [value] })).toEqual([]);
  });

  it.each(['hf_', 'sk-', '://', '://a', '://:', 'AKIA', '-----BEGIN ', '"private_key":', '?sig=', 'a:', ' '])(
    'is looked for in a whole spec of %j in time that grows with its length alone',
    (piece) => {
      const value = piece.repeat(4096).slice(0, 4096);
      const env = Array.from({ length: 100 }, (_, index) => ({ name: `A${index}`, value }));
      // A form that looks back at each place would take hours.
      expect(() => plainSecrets({ env, args: Array.from({ length: 256 }, () => value) })).not.toThrow();
    },
  );
});
