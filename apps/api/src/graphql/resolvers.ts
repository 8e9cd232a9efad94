import { ApiTokenCreate, JobCreate, JobResume, LayoutCreate, ProjectCreate } from '@coxswain/api-types';
import { GraphQLError, GraphQLScalarType, Kind } from 'graphql';
import { z } from 'zod';
import { whoAmI } from '../auth/whoami.controller.ts';
import type { Principal } from '../auth/principal.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { MAX_PAGE_SIZE } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { type JobHistoryService, MAX_HISTORY } from '../jobs/job-history.service.ts';
import type { JobsService } from '../jobs/jobs.service.ts';
import type { LayoutsService } from '../layouts/layouts.service.ts';
import type { ApiTokensService } from '../projects/api-tokens.service.ts';
import type { ProjectsService } from '../projects/projects.service.ts';

/** The services that REST uses too: they decide who may do what, so the two cannot differ. */
export interface GraphqlServices {
  readonly projects: ProjectsService;
  readonly tokens: ApiTokensService;
  readonly jobs: JobsService;
  readonly history: JobHistoryService;
  readonly layouts: LayoutsService;
}

/** Made anew for every request. */
export interface GraphqlContext {
  readonly principal: Principal;
}

interface InProject {
  readonly project: string;
}
interface OfJob extends InProject {
  readonly jobId: string;
}
interface JobCommand extends InProject {
  readonly id: string;
  readonly version?: number | null;
}

type Resolver<Args> = (root: unknown, args: Args, context: GraphqlContext) => unknown;
/** One value per field; a field without a resolver would fail at start, one without a field too. */
const resolver = <Args>(resolve: Resolver<Args>): Resolver<Args> => resolve;

const Limit = z.strictObject({
  pageSize: z.int().min(1).max(MAX_PAGE_SIZE),
  limit: z.int().min(1).max(MAX_HISTORY),
  fromStep: z.int().min(0),
  after: z.int().min(0),
});

/** Each resolver validates with the schema of the REST body and calls one method of a service. */
export function createResolvers(services: GraphqlServices): Readonly<Record<string, unknown>> {
  const { projects, tokens, jobs, history, layouts } = services;
  return {
    DateTime: new GraphQLScalarType({ name: 'DateTime', serialize: String, parseValue: requireText, parseLiteral: literalText }),
    SafeInt: new GraphQLScalarType({
      name: 'SafeInt',
      serialize: Number,
      parseValue: requireSafeInt,
      parseLiteral: (node) => requireSafeInt(node.kind === Kind.INT ? Number(node.value) : undefined),
    }),
    Query: {
      me: resolver((_root, _args, { principal }) => whoAmI(principal)),
      projects: resolver((_root, _args, { principal }) => projects.list(principal)),
      project: resolver<{ name: string }>((_root, { name }, { principal }) => projects.get(principal, name)),
      jobs: resolver<InProject & { pageSize: number; pageToken?: string | null; state?: 'Queued' | null }>(
        (_root, { project, pageSize, pageToken, state }, { principal }) =>
          jobs.list(principal, {
            project,
            pageSize: parse(Limit.pick({ pageSize: true }), { pageSize }).pageSize,
            pageToken: pageToken ?? undefined,
            state: state ?? undefined,
          }),
      ),
      job: resolver<InProject & { id: string }>((_root, { project, id }, { principal }) =>
        jobs.get(principal, { project, jobId: id }),
      ),
      checkpoints: resolver<OfJob>((_root, address, { principal }) => history.checkpoints(principal, address)),
      layouts: resolver<InProject>((_root, { project }, { principal }) => layouts.list(principal, project)),
      events: resolver<OfJob & { after: number }>((_root, { after, ...address }, { principal }) =>
        history.events(principal, address, parse(Limit.pick({ after: true }), { after }).after),
      ),
      steps: resolver<OfJob & { epoch?: number | null; fromStep: number; limit: number }>(
        (_root, { epoch, fromStep, limit, ...address }, { principal }) =>
          history.steps(principal, address, {
            ...parse(Limit.pick({ fromStep: true, limit: true }), { fromStep, limit }),
            epoch: epoch ?? undefined,
          }),
      ),
      ranks: resolver<OfJob>((_root, address, { principal }) => history.ranks(principal, address)),
    },
    Mutation: {
      createProject: resolver<{ input: unknown }>((_root, { input }, { principal }) =>
        projects.create(principal, parse(ProjectCreate, input)),
      ),
      createToken: resolver<InProject & { input: unknown }>((_root, { project, input }, { principal }) =>
        tokens.create(principal, project, parse(ApiTokenCreate, input)),
      ),
      createJob: resolver<InProject & { input: unknown; idempotencyKey?: string | null }>(
        (_root, { project, input, idempotencyKey }, { principal }) =>
          jobs.create(principal, {
            project,
            body: parse(JobCreate, input),
            idempotencyKey: idempotencyKeyOf(idempotencyKey ?? undefined),
          }),
      ),
      suspendJob: resolver<JobCommand>((_root, command, { principal }) => jobs.suspend(principal, addressOf(command))),
      resumeJob: resolver<JobCommand & { input?: unknown }>((_root, { input, ...command }, { principal }) =>
        jobs.resume(principal, addressOf(command), parse(JobResume, input ?? {})),
      ),
      cancelJob: resolver<JobCommand>((_root, command, { principal }) => jobs.cancel(principal, addressOf(command))),
      deleteJob: resolver<JobCommand>((_root, command, { principal }) =>
        jobs.remove(principal, addressOf(command)).then(() => true),
      ),
      createLayout: resolver<InProject & { input: unknown }>((_root, { project, input }, { principal }) =>
        layouts.create(principal, project, parse(LayoutCreate, input)),
      ),
    },
  };
}

function addressOf({ project, id, version }: JobCommand): { project: string; jobId: string; ifVersion: number | undefined } {
  return { project, jobId: id, ifVersion: version ?? undefined };
}

function requireText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new GraphQLError('a DateTime is text such as "2030-01-31T00:00:00Z"');
}

function literalText(node: { readonly kind: string; readonly value?: unknown }): string {
  return requireText(node.kind === Kind.STRING ? node.value : undefined);
}

function requireSafeInt(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new GraphQLError('a SafeInt is a whole number between -(2^53 - 1) and 2^53 - 1');
}
