import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '@coxswain/kube';
import { createLogger, createMetrics } from '@coxswain/telemetry';
import { GiveUp, waitFor } from '@coxswain/local-cluster';
import { StatedAnswers, temporaryDirectory } from '@coxswain/test-harness';
import { CONTROLLERS } from '../app.module.ts';
import { readConfig } from '../config/config.ts';
import { openApiDocument } from '../http/openapi-document.ts';
import type { WallClock } from '../infrastructure/tokens.ts';
import { type RunningApi, startApi } from '../start.ts';
import { environmentOf, rolesOf } from './test-database.ts';

/** A request to the API under test. */
export interface TestRequest {
  readonly token?: string;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back; `body` is parsed when it is JSON. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a test asserts on the shape; typing it first would assert it twice
  readonly body: any;
}

/** An API over a real database, with requests injected. Each answer is held against the OpenAPI document. */
export interface ApiUnderTest {
  readonly running: RunningApi;
  readonly adminToken: string;
  send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, request?: TestRequest): Promise<TestAnswer>;
  /** Makes a project with one namespace of the same name and a token in it. */
  project(name: string, role?: 'viewer' | 'operator' | 'admin'): Promise<string>;
  close(): Promise<void>;
}

/** Starts the API on the database, with roles of its own unless the environment says otherwise; without a cluster unless one is given. */
export async function startApiUnderTest(options: {
  /** Of a superuser, for whom the roles are made. */
  readonly databaseUrl: string;
  readonly kube?: KubeClient;
  readonly clock?: WallClock;
  readonly environment?: Readonly<Record<string, string>>;
  /** Of an earlier start on the same database: it is made once. */
  readonly adminToken?: string;
}): Promise<ApiUnderTest> {
  const directory = temporaryDirectory('api');
  const tokenFile = join(directory, 'admin-token');
  const config = readConfig({
    ...environmentOf(await rolesOf(options.databaseUrl)),
    COXSWAIN_LISTEN_PORT: '0',
    COXSWAIN_ROLE: 'api',
    COXSWAIN_BOOTSTRAP_TOKEN_FILE: tokenFile,
    COXSWAIN_LOG_LEVEL: 'silent',
    // Tests ask as fast as they can.
    COXSWAIN_PROJECT_CPU_MS_PER_SECOND: '0',
    COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '0',
    COXSWAIN_STRANGERS_CPU_MS_PER_SECOND: '0',
    ...options.environment,
  });
  const running = await startApi(config, {
    logger: createLogger({ program: 'coxswain-api', level: config.logLevel }),
    metrics: createMetrics(),
    ...(options.kube === undefined ? {} : { kube: options.kube }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  const adminToken = options.adminToken ?? readFileSync(tokenFile, 'utf8').trim();
  const stated = new StatedAnswers(openApiDocument(CONTROLLERS));
  const send: ApiUnderTest['send'] = async (method, url, request = {}) => {
    const answer = await running.app.inject({
      method,
      url,
      headers: {
        ...(request.token === undefined ? {} : { authorization: `Bearer ${request.token}` }),
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...request.headers,
      },
      ...(request.bytes === undefined ? {} : { payload: Buffer.from(request.bytes) }),
      ...(request.body === undefined
        ? {}
        : { payload: typeof request.body === 'string' ? request.body : JSON.stringify(request.body) }),
    });
    const isJson = String(answer.headers['content-type'] ?? '').includes('json');
    const answered = { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json() : answer.body };
    stated.check({ method, url, body: request.body }, answered);
    return answered;
  };
  /** What a test needs before it begins; a database that is busy for a moment (503) is asked again. */
  const made = (url: string, body: object): Promise<TestAnswer> =>
    waitFor(
      async () => {
        const answer = await send('POST', url, { token: adminToken, body });
        if (answer.status >= 300 && answer.status !== 503) {
          throw new GiveUp(`POST ${url} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
        }
        return answer.status < 300 ? answer : undefined;
      },
      { what: `${url} to be served` },
    );
  return {
    running,
    adminToken,
    send,
    project: async (name, role = 'operator') => {
      await made('/v1/projects', { name, namespaces: [name] });
      return (await made(`/v1/projects/${name}/tokens`, { name: 'test', role })).body.token as string;
    },
    close: async () => {
      await running.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
