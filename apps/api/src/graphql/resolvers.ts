import { ApiTokenCreate, JobCreate, JobResume, LayoutCreate, ProjectCreate } from '@coxswain/api-types';
import { PlanRequest } from '@coxswain/planner/types';
import { GraphQLError, Kind, type ValueNode } from 'graphql';
import { whoAmI } from '../projects/whoami.controller.ts';
import type { Principal } from '../auth/principal.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { parse } from '../http/validation.ts';
import type { JobHistoryService } from '../jobs/job-history.service.ts';
import { EventsQuery, JobsQuery, StepsQuery } from '../jobs/job-queries.ts';
import type { JobAddress, JobsService } from '../jobs/jobs.service.ts';
import type { LayoutsService } from '../layouts/layouts.service.ts';
import { PlanScopeQuery, PlansQuery } from '../plans/plan-queries.ts';
import type { PlansService } from '../plans/plans.service.ts';
import type { ApiTokensService } from '../projects/api-tokens.service.ts';
import type { ProjectsService } from '../projects/projects.service.ts';
import type { ItemBudget } from './query-limits.ts';

/** The services that REST uses too: they decide who may do what, so the two cannot differ. */
export interface GraphqlServices {
  readonly projects: ProjectsService;
  readonly tokens: ApiTokensService;
  readonly jobs: JobsService;
  readonly history: JobHistoryService;
  readonly layouts: LayoutsService;
  readonly plans: PlansService;
}

/** Made anew for every request. */
export interface GraphqlContext {
  readonly principal: Principal;
  readonly budget: ItemBudget;
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
const resolver = <Args>(resolve: Resolver<Args>): Resolver<Args> => resolve;

/** Each resolver parses with the schema of the REST body or query and calls one method of a service. A field that the schema lacks fails at start. */
export function createResolvers(services: GraphqlServices): Readonly<Record<string, unknown>> {
  return { SafeInt, Query: queries(services), Mutation: mutations(services) };
}

function queries({ projects, jobs, history, layouts, plans }: GraphqlServices): Readonly<Record<string, unknown>> {
  return {
    whoAmI: resolver((_root, _args, { principal }) => whoAmI(principal)),
    projects: resolver(async (_root, _args, { principal, budget }) => budget.spend(await projects.list(principal))),
    project: resolver<{ name: string }>((_root, { name }, { principal }) => projects.get(principal, name)),
    jobs: resolver<InProject>(async (_root, { project, ...query }, { principal, budget }) =>
      budget.spend(await jobs.list(principal, { project, ...parse(JobsQuery, present(query)) })),
    ),
    job: resolver<InProject & { id: string }>((_root, { project, id }, { principal }) =>
      jobs.get(principal, { project, jobId: id }),
    ),
    checkpoints: resolver<OfJob>(async (_root, job, { principal, budget }) =>
      budget.spend(await history.checkpoints(principal, job)),
    ),
    layouts: resolver<InProject>(async (_root, { project }, { principal, budget }) =>
      budget.spend(await layouts.list(principal, project)),
    ),
    plan: resolver<{ id: string }>((_root, { id }, { principal }) => plans.get(principal, id)),
    plans: resolver(async (_root, query, { principal, budget }) =>
      budget.spend(await plans.list(principal, parse(PlansQuery, present(query)))),
    ),
    planAccuracy: resolver(async (_root, query, { principal, budget }) =>
      budget.spend(await plans.accuracy(principal, parse(PlanScopeQuery, present(query)).project)),
    ),
    events: resolver<OfJob>(async (_root, { project, jobId, ...query }, { principal, budget }) => {
      const { after } = parse(EventsQuery, present(query));
      return budget.spend(await history.events(principal, { project, jobId }, after));
    }),
    steps: resolver<OfJob>(async (_root, { project, jobId, ...query }, { principal, budget }) =>
      budget.spend(await history.steps(principal, { project, jobId }, parse(StepsQuery, present(query)))),
    ),
    ranks: resolver<OfJob>(async (_root, job, { principal, budget }) =>
      budget.spend(await history.ranks(principal, job)),
    ),
  };
}

function mutations({ projects, tokens, jobs, layouts, plans }: GraphqlServices): Readonly<Record<string, unknown>> {
  return {
    createProject: resolver<{ input: unknown }>((_root, { input }, { principal }) =>
      projects.create(principal, parse(ProjectCreate, present(input))),
    ),
    createToken: resolver<InProject & { input: unknown }>((_root, { project, input }, { principal }) =>
      tokens.create(principal, project, parse(ApiTokenCreate, present(input))),
    ),
    createJob: resolver<InProject & { input: unknown; idempotencyKey?: string | null }>(
      (_root, { project, input, idempotencyKey }, { principal }) =>
        jobs.create(principal, {
          project,
          body: parse(JobCreate, present(input)),
          idempotencyKey: idempotencyKeyOf(idempotencyKey ?? undefined),
        }),
    ),
    suspendJob: resolver<JobCommand>((_root, command, { principal }) => jobs.suspend(principal, addressOf(command))),
    resumeJob: resolver<JobCommand & { input?: unknown }>((_root, { input, ...command }, { principal }) =>
      jobs.resume(principal, addressOf(command), parse(JobResume, present(input ?? {}))),
    ),
    cancelJob: resolver<JobCommand>((_root, command, { principal }) => jobs.cancel(principal, addressOf(command))),
    deleteJob: resolver<JobCommand>((_root, command, { principal }) =>
      jobs.remove(principal, addressOf(command)).then(() => true),
    ),
    createLayout: resolver<InProject & { input: unknown }>((_root, { project, input }, { principal }) =>
      layouts.create(principal, project, parse(LayoutCreate, present(input))),
    ),
    createPlan: resolver<{ input: unknown; project?: string | null; idempotencyKey?: string | null }>(
      (_root, { input, idempotencyKey, ...scope }, { principal }) =>
        plans.create(principal, {
          ...parse(PlanScopeQuery, present(scope)),
          request: parse(PlanRequest, present(input)),
          key: idempotencyKeyOf(idempotencyKey ?? undefined),
        }),
    ),
  };
}

function addressOf({ project, id, version }: JobCommand): JobAddress {
  return { project, jobId: id, ifVersion: version ?? undefined };
}

/** In GraphQL null says the same as leaving out; the schemas of REST know only the latter. */
function present(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(present);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, present(inner)]));
}

const SafeInt = {
  serialize: Number,
  parseValue: requireSafeInt,
  parseLiteral: (node: ValueNode): number => requireSafeInt(node.kind === Kind.INT ? Number(node.value) : undefined),
};

function requireSafeInt(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new GraphQLError('a SafeInt is a whole number between -(2^53 - 1) and 2^53 - 1');
}
