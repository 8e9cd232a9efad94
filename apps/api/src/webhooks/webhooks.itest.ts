/** Endpoints of a project, over a real database and two carriers. More than 400 lines: the cases share both, and the receivers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Incident, LABELS, type TrainingJob } from '@coxswain/api-types';
import { aJobSpec, anIncident, aTrainingJob } from '@coxswain/api-types/testing';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { createMetrics } from '@coxswain/telemetry';
import { claimMessage, KEPT_DAYS, MOST_KEPT_OF_ENDPOINT, removeOldDeliveries } from '../messages/delivery-rows.ts';
import { MessageCarrier } from '../messages/message-carrier.ts';
import { MOST_WAITING_OF_ENDPOINT } from '../messages/queue-webhook-messages.ts';
import { type MailServer, startMailServer } from '../messages/testing/mail-server.ts';
import { markJobGone, projectJob } from '../projection/job-projection.ts';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';

const WEBHOOKS = '/v1/projects/research/webhooks';

type Message = Endpoint['messages'][number];
/** The one of the examples, which is plain JavaScript. */
const RECEIVER: string = new URL('../../../../examples/webhooks/receiver.mjs', import.meta.url).href;
let receiver: (secret: string, onMessage: (message: Message) => void) => Server;

const directory = mkdtempSync(join(tmpdir(), 'coxswain-webhooks-'));
let mailServer: MailServer;
let postgres: SharedPostgres;
let api: ApiUnderTest;
let admin: string;
let rivals: string;
const carriers: MessageCarrier[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  ({ receiver } = (await import(RECEIVER)) as { readonly receiver: typeof receiver });
  postgres = migratedPostgres();
  mailServer = await startMailServer();
  const smtpUrlFile = join(directory, 'smtp-url');
  writeFileSync(smtpUrlFile, `smtp://127.0.0.1:${mailServer.port}\n`);
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('webhooks'),
    environment: {
      COXSWAIN_WEBHOOK_ALLOW_HTTP: 'true',
      COXSWAIN_WEBHOOK_ALLOWED_RANGES: '127.0.0.1/32',
      COXSWAIN_SMTP_URL_FILE: smtpUrlFile,
      COXSWAIN_SMTP_ALLOW_PLAIN: 'true',
      COXSWAIN_MAIL_FROM: 'coxswain@example.com',
      COXSWAIN_MAIL_ALLOWED_DOMAINS: 'example.com',
    },
  });
  admin = await api.project('research', 'admin');
  rivals = await api.project('rivals', 'admin');
  const { database, cluster, webhookKey: key, clock, logger, config } = api.running.infrastructure;
  // Two, as of two replicas: what is told once is sent once.
  for (let replica = 0; replica < 2; replica++) {
    const carrier = new MessageCarrier({
      database,
      cluster,
      key,
      rules: config.webhooks,
      mail: config.mail,
      clock,
      logger,
      metrics: createMetrics(),
    });
    carrier.start();
    carriers.push(carrier);
  }
});
afterAll(async () => {
  for (const carrier of carriers) await carrier.close();
  for (const server of servers) server.close();
  mailServer?.close();
  await api?.close();
  rmSync(directory, { recursive: true });
});

const send = (method: 'GET' | 'POST' | 'DELETE', url: string, body?: object, token = admin) =>
  api.send(method, url, { token, ...(body === undefined ? {} : { body }) });
const sql = <Row = unknown>(text: string, parameters: readonly unknown[] = []) =>
  api.running.infrastructure.database.query<Row>(text, parameters);

/** What came to a receiver: messages that were signed, and every id with its signatures. */
interface Endpoint {
  readonly id: string;
  readonly secret: string;
  readonly messages: {
    readonly type: string;
    readonly data: { readonly incident?: Incident; readonly state?: string };
  }[];
  readonly came: { readonly id: string; readonly signatures: number }[];
  /** What it answers to those that come next, before it takes any. */
  readonly refusals: number[];
}

/** An endpoint whose receiver is the one of the examples. */
async function anEndpoint(events?: readonly string[], form?: string): Promise<Endpoint> {
  const [messages, came, refusals]: [Endpoint['messages'], Endpoint['came'], number[]] = [[], [], []];
  // Made when the secret is known.
  const verifiers: Server[] = [];
  const door = receiver('whsec_', () => undefined);
  door.removeAllListeners('request').on('request', (request: IncomingMessage, response: ServerResponse) => {
    const signatures = String(request.headers['webhook-signature']).split(' ').length;
    came.push({ id: String(request.headers['webhook-id']), signatures });
    const refusal = refusals.shift();
    if (refusal === undefined) verifiers[0]?.emit('request', request, response);
    else response.writeHead(refusal).end('a secret of the receiver');
  });
  servers.push(door);
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/hook`;
  const { status, body } = await send('POST', WEBHOOKS, {
    url,
    ...(events === undefined ? {} : { events }),
    ...(form === undefined ? {} : { form }),
  });
  expect(status).toBe(201);
  verifiers.push(receiver(body.secret, (message) => void messages.push(message)));
  return { id: body.id, secret: body.secret, messages, came, refusals };
}

let resourceVersion = 100;
/** As the projector writes it when the resource says so. */
async function project(name: string, status: Partial<TrainingJob['status']>, uid = `uid-${name}`): Promise<void> {
  const { database, cluster } = api.running.infrastructure;
  resourceVersion += 1;
  const metadata = { name, namespace: 'research', uid, resourceVersion: `${resourceVersion}` };
  const job = aTrainingJob({ metadata: { ...metadata, labels: { [LABELS.jobId]: jobIds[name] ?? '' } } });
  await database.transaction((on) =>
    projectJob(on, cluster, { ...job, status: { ...job.status, epoch: 1, ...status } } as TrainingJob),
  );
}
const jobIds: Record<string, string> = {};
async function aJob(name: string): Promise<void> {
  jobIds[name] = (await send('POST', '/v1/projects/research/jobs', { name, spec: aJobSpec() })).body.id;
}

const seen = (endpoint: Endpoint, count: number): Promise<true> =>
  waitFor(() => Promise.resolve(endpoint.messages.length >= count ? true : undefined), { what: `${count} messages` });
const typesOf = ({ messages }: Endpoint): readonly string[] => messages.map(({ type }) => type);
/** As time does: what waits is due. */
const makeDue = (id: string) =>
  sql("UPDATE webhook_deliveries SET next_attempt_at = now() WHERE webhook_id = $1 AND state = 'waiting'", [id]);
const shown = async (id: string) =>
  (await send('GET', WEBHOOKS)).body.items.find((one: { id: string }) => one.id === id);
const deliveriesOf = async (id: string) => (await send('GET', `${WEBHOOKS}/${id}/deliveries`)).body.items;

describe('an endpoint', () => {
  it('is told what happens to an incident and to its job, each once, whoever projects how often', async () => {
    await aJob('tiny');
    const [all, ends] = [await anEndpoint(), await anEndpoint(['job.ended'])];
    const open = [anIncident({ action: 'Advised', kind: 'Hang' })];
    const acted = [anIncident({ kind: 'Hang' })];
    const over = [anIncident({ kind: 'Hang', outcome: 'Recovered' })];
    for (const incidents of [open, open, acted, over, over]) await project('tiny', { incidents, state: 'Running' });
    for (let time = 0; time < 2; time++) await project('tiny', { incidents: over, state: 'Complete' });
    const { database, cluster } = api.running.infrastructure;
    await markJobGone(database, cluster, { namespace: 'research', name: 'tiny', seenUpTo: '9999' });
    await Promise.all([seen(all, 4), seen(ends, 1)]);
    expect(typesOf(all)).toEqual(['incident.opened', 'incident.acted', 'incident.closed', 'job.ended']);
    expect(all.messages[2]?.data).toMatchObject({
      project: 'research',
      job: { id: jobIds['tiny'], name: 'tiny', namespace: 'research' },
      incident: over[0],
    });
    expect(ends.messages.map(({ data }) => data.state)).toEqual(['Complete']);
    const kept = await sql<{ body: string }>("SELECT body FROM webhook_deliveries ORDER BY state = 'waiting'");
    expect([kept.rows.length, kept.rows[0]?.body]).toEqual([5, '']);
    expect(all.came.map(({ id }) => id)).toHaveLength(new Set(all.came.map(({ id }) => id)).size);
    const atRest = await waitFor(
      async () => {
        const now = await shown(all.id);
        return now.waiting === 0 ? now : undefined;
      },
      { what: 'what came of the last message' },
    );
    expect(atRest).toMatchObject({ state: 'active', failures: 0 });
  });

  it('is told of a job that waits for a person, and of one that was deleted before it ended', async () => {
    await aJob('lost');
    const endpoint = await anEndpoint(['job.needsPerson', 'job.ended']);
    const conditions = [
      {
        type: 'Running',
        status: 'False' as const,
        reason: 'ImageUnavailable',
        message: 'There is no such image.',
        observedGeneration: 1,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ];
    for (let time = 0; time < 2; time++) await project('lost', { conditions, state: 'Starting' });
    const { database, cluster } = api.running.infrastructure;
    await database.transaction((on) =>
      markJobGone(on, cluster, { namespace: 'research', name: 'lost', seenUpTo: '9999' }),
    );
    await seen(endpoint, 2);
    expect(endpoint.messages.map(({ type, data }) => [type, data.state])).toEqual([
      ['job.needsPerson', undefined],
      ['job.ended', 'Deleted'],
    ]);
  });

  it('of form Slack gets sentences, and one beside it gets JSON', async () => {
    await aJob('finished');
    const [slack, standard] = [await anEndpoint(undefined, 'Slack'), await anEndpoint()];
    await send('POST', `${WEBHOOKS}/${slack.id}/test`);
    await project('finished', { state: 'Complete', summary: 'It made all steps.' });
    await Promise.all([seen(slack, 2), seen(standard, 1)]);
    expect(slack.messages).toMatchObject([
      { text: '*Coxswain*, project research: Somebody asked for this message to see whether it arrives.' },
      { text: '*research/finished* is Complete. It made all steps.' },
    ]);
    expect(typesOf(standard)).toEqual(['job.ended']);
    expect(await shown(slack.id)).toMatchObject({ form: 'Slack' });
    // A project has at most ten.
    for (const { id } of [slack, standard]) await send('DELETE', `${WEBHOOKS}/${id}`);
  });

  it('of mailto: gets mail, and other domains and forms are refused', async () => {
    await aJob('mailed');
    const { status, body } = await send('POST', WEBHOOKS, { url: 'mailto:oncall@example.com', events: ['job.ended'] });
    expect([status, body.form]).toEqual([201, 'Email']);
    await send('POST', `${WEBHOOKS}/${body.id}/test`);
    await project('mailed', { state: 'Complete', summary: 'It made all steps.' });
    const heard = (line: string): Promise<true> =>
      waitFor(() => Promise.resolve(mailServer.heard.includes(line) || undefined), { what: line });
    await heard('Subject: [research] Coxswain: a test');
    await heard('Subject: [research] mailed: Complete');
    expect(mailServer.heard).toContain('RCPT TO:<oncall@example.com>');
    for (const refused of [{ url: 'mailto:a@evil.example' }, { url: 'https://8.8.8.8/', form: 'Email' }])
      expect((await send('POST', WEBHOOKS, refused)).status).toBe(400);
    await send('DELETE', `${WEBHOOKS}/${body.id}`);
  });

  it('that refuses gets the same message again under the same id, and what it wrote is shown to nobody', async () => {
    const endpoint = await anEndpoint();
    endpoint.refusals.push(500, 302);
    const { body: queued } = await send('POST', `${WEBHOOKS}/${endpoint.id}/test`);
    for (const outcome of ['answered 500', 'answered 302']) {
      const [delivery] = await waitFor(
        async () => {
          const items = await deliveriesOf(endpoint.id);
          return items[0]?.lastOutcome === outcome ? items : undefined;
        },
        { what: outcome },
      );
      expect(delivery).toMatchObject({ id: queued.id, event: 'webhook.test', state: 'waiting' });
      expect(JSON.stringify(delivery)).not.toContain('secret');
      await makeDue(endpoint.id);
    }
    await seen(endpoint, 1);
    expect(endpoint.came.map(({ id }) => id)).toEqual([queued.id, queued.id, queued.id]);
  });

  it('gets a message whose sender died with it, when the lease is over and not before', async () => {
    const endpoint = await anEndpoint();
    const { database, cluster } = api.running.infrastructure;
    // Held until somebody else, who then dies, has taken it.
    await sql("UPDATE webhooks SET leased_until = now() + interval '1 hour' WHERE id = $1", [endpoint.id]);
    await send('POST', `${WEBHOOKS}/${endpoint.id}/test`);
    const claimed = await database.transaction(async (on) => {
      await on.query('UPDATE webhooks SET leased_until = NULL WHERE id = $1', [endpoint.id]);
      return claimMessage(on as typeof database, cluster, []);
    });
    expect(claimed).toMatchObject({ webhook_id: endpoint.id, attempts: 1 });
    expect(await claimMessage(database, cluster, [])).toBeUndefined();
    await sql("UPDATE webhooks SET leased_until = now() - interval '1 s' WHERE id = $1", [endpoint.id]);
    await makeDue(endpoint.id);
    await seen(endpoint, 1);
    // It is recorded once the receiver has answered, a moment after it came there.
    const delivery = await waitFor(
      async () => (await deliveriesOf(endpoint.id)).find((one: { state: string }) => one.state !== 'waiting'),
      { what: 'what became of the message' },
    );
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  it('whose secret is rotated gets both signatures for as long as was said', async () => {
    const endpoint = await anEndpoint();
    const { body } = await send('POST', `${WEBHOOKS}/${endpoint.id}/rotate`, { overlapSeconds: 3_600 });
    expect(body.secret).not.toBe(endpoint.secret);
    expect(body.previousSecretUntil).not.toBeNull();
    await send('POST', `${WEBHOOKS}/${endpoint.id}/test`);
    // The receiver knows the old one.
    await seen(endpoint, 1);
    await sql('UPDATE webhooks SET previous_secret_until = now() WHERE id = $1', [endpoint.id]);
    await send('POST', `${WEBHOOKS}/${endpoint.id}/test`);
    const second = await waitFor(
      async () =>
        (await deliveriesOf(endpoint.id)).find((one: { lastOutcome: string }) => one.lastOutcome === 'answered 401'),
      { what: 'a signature that the receiver does not know' },
    );
    expect(second.state).toBe('waiting');
    expect(endpoint.came.map(({ signatures }) => signatures)).toEqual([2, 1]);
    expect(JSON.stringify(await shown(endpoint.id))).not.toContain('whsec_');
  });

  it('that has failed for half a day is disabled, says so, is told nothing more, and is enabled again', async () => {
    await aJob('small');
    const endpoint = await anEndpoint(['job.ended']);
    endpoint.refusals.push(503);
    await sql("UPDATE webhooks SET failures = 9, failing_since = now() - interval '13 hours' WHERE id = $1", [
      endpoint.id,
    ]);
    await send('POST', `${WEBHOOKS}/${endpoint.id}/test`);
    const disabled = await waitFor(
      async () => {
        const now = await shown(endpoint.id);
        return now.state === 'disabled' ? now : undefined;
      },
      { what: 'the end of patience' },
    );
    expect(disabled.disabledReason).toMatch(
      /^Every attempt failed for 13 hours, 10 in a row; the last one: answered 503\.$/,
    );
    await project('small', { state: 'Failed' });
    expect((await shown(endpoint.id)).waiting).toBe(1);
    expect((await send('POST', `${WEBHOOKS}/${endpoint.id}/test`)).body.code).toBe('CONFLICT');
    await makeDue(endpoint.id);
    expect((await send('POST', `${WEBHOOKS}/${endpoint.id}/enable`)).body).toMatchObject({
      state: 'active',
      failures: 0,
    });
    await seen(endpoint, 1);
    expect(typesOf(endpoint)).toEqual(['webhook.test']);
  });

  it('of which many messages wait gets each once, in their order, from whichever replica', async () => {
    const endpoint = await anEndpoint();
    await sql(
      `INSERT INTO webhook_deliveries (cluster_id, project_id, webhook_id, event, body, created_at)
       SELECT cluster_id, project_id, id, 'job.ended', jsonb_build_object('type', n::text), now() + make_interval(secs => n / 1000.0)
         FROM webhooks, generate_series(1, 100) AS n WHERE id = $1`,
      [endpoint.id],
    );
    await seen(endpoint, 100);
    expect(typesOf(endpoint)).toEqual(Array.from({ length: 100 }, (_, index) => `${index + 1}`));
    expect(endpoint.came).toHaveLength(100);
  });

  it('of which too many messages wait is told no more, and how many were left out', async () => {
    await aJob('many');
    const endpoint = await anEndpoint(['job.ended']);
    await sql(
      `INSERT INTO webhook_deliveries (cluster_id, project_id, webhook_id, event, body, next_attempt_at)
       SELECT cluster_id, project_id, id, 'job.ended', '{}', now() + interval '1 hour' FROM webhooks, generate_series(1, $2::integer) WHERE id = $1`,
      [endpoint.id, MOST_WAITING_OF_ENDPOINT],
    );
    await project('many', { state: 'Complete' });
    expect(await shown(endpoint.id)).toMatchObject({ waiting: MOST_WAITING_OF_ENDPOINT, leftOut: 1 });
    expect((await send('DELETE', `${WEBHOOKS}/${endpoint.id}`)).status).toBe(204);
    expect((await sql('SELECT FROM webhook_deliveries WHERE webhook_id = $1', [endpoint.id])).rows).toEqual([]);
  });

  it('keeps the newest of what has ended, and nothing for longer than is said', async () => {
    const endpoint = await anEndpoint();
    await sql(
      `INSERT INTO webhook_deliveries (cluster_id, project_id, webhook_id, event, body, state, next_attempt_at, created_at)
       SELECT cluster_id, project_id, id, 'job.ended', n::text, CASE WHEN n > 2 THEN 'delivered' ELSE 'waiting' END, now() + interval '1 hour',
              now() - CASE WHEN n = 1 THEN interval '${KEPT_DAYS + 1} days' ELSE make_interval(secs => n) END
         FROM webhooks, generate_series(1, $2::integer) AS n WHERE id = $1`,
      [endpoint.id, MOST_KEPT_OF_ENDPOINT + 12],
    );
    const { database, cluster } = api.running.infrastructure;
    expect(await removeOldDeliveries(database, cluster, 5)).toBe(5);
    expect(await removeOldDeliveries(database, cluster, 1_000)).toBe(6);
    expect(await removeOldDeliveries(database, cluster, 1_000)).toBe(0);
    const left = await sql<{ body: string }>('SELECT body FROM webhook_deliveries WHERE webhook_id = $1', [
      endpoint.id,
    ]);
    const numbers = left.rows.map(({ body }) => Number(body)).sort((a, b) => a - b);
    expect([numbers[0], numbers.at(-1), numbers.length]).toEqual([
      2,
      MOST_KEPT_OF_ENDPOINT + 2,
      MOST_KEPT_OF_ENDPOINT + 1,
    ]);
  });

  it('is one of at most ten, at an address that may be called, and nobody else’s', async () => {
    for (const url of [
      'http://169.254.169.254/latest',
      'http://10.0.0.1/',
      'ftp://example.com/',
      'http://a:b@example.com/',
    ])
      expect((await send('POST', WEBHOOKS, { url })).body).toMatchObject({
        code: 'INVALID_REQUEST',
        errors: [{ pointer: '/url' }],
      });
    const { items } = (await send('GET', WEBHOOKS)).body;
    for (let more = items.length; more < 10; more++) await send('POST', WEBHOOKS, { url: 'https://example.com/' });
    expect((await send('POST', WEBHOOKS, { url: 'https://example.com/' })).status).toBe(429);
    const theirs = await send('GET', `/v1/projects/rivals/webhooks/${items[0].id}/deliveries`, undefined, rivals);
    expect([theirs.status, (await send('GET', '/v1/projects/rivals/webhooks', undefined, rivals)).body]).toEqual([
      404,
      { items: [] },
    ]);
    const query =
      'query ($id: ID!) { webhooks(project: "research") { items { id state } } webhookDeliveries(project: "research", id: $id) { items { id } } }';
    const { body } = await api.send('POST', '/graphql', {
      token: admin,
      body: { query, variables: { id: items[0].id } },
    });
    expect(body.data.webhooks.items).toHaveLength(10);
    expect(body.data.webhookDeliveries.items).toEqual(
      (await deliveriesOf(items[0].id)).map(({ id }: { id: string }) => ({ id })),
    );
  });

  it('leaves in the audit who did what, and no secret', async () => {
    const found = await sql<{ action: string; row: string }>(
      "SELECT action, a::text AS row FROM audit a WHERE action LIKE 'webhook.%'",
    );
    expect(new Set(found.rows.map(({ action }) => action))).toEqual(
      new Set(['webhook.create', 'webhook.rotate', 'webhook.enable', 'webhook.delete']),
    );
    expect(found.rows.filter(({ row }) => /whsec_|\/hook/.test(row))).toEqual([]);
  });
});
