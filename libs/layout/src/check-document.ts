import { formatLayout, type ParallelLayout, worldSize } from './parallel-layout.ts';
import type { DeviceMesh, JobLayout, LayoutDocument, RoleDocument } from './layout-document.ts';
import type { LayoutFacts } from './layout-facts.ts';
import { layoutFindings } from './layout-rules.ts';
import type { ModelShape } from './model-shape.ts';

/** An error or warning about a document; `path` is dotted from the top of the document. */
export interface DocumentFinding {
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  readonly path: string;
  readonly message: string;
}

/** Returns the shape of a model preset; throws an error with the nearest names if the name is unknown. */
export type ModelByName = (name: string) => ModelShape;

/** The facts for layout rules, from a role's document and its mesh. */
export function factsOfRole(
  role: RoleDocument,
  options: { mesh?: DeviceMesh | undefined; modelOf: ModelByName },
): LayoutFacts {
  const { mesh } = options;
  const model = typeof role.model === 'string' ? options.modelOf(role.model) : role.model;
  return {
    ...model,
    ...role.batch,
    engine: role.engine?.name,
    restoreFrom: role.restoreFrom,
    ...(mesh === undefined
      ? {}
      : {
          gpusPerNode: mesh.gpusPerNode,
          scaleUpDomainGpus: mesh.scaleUpDomainGpus ?? mesh.gpusPerNode,
          hostMemoryGibPerNode: mesh.hostMemoryGibPerNode,
          islands: mesh.segments,
        }),
  };
}

/** Errors and warnings about a document of one role. The layout must use all GPUs of the mesh. */
export function checkLayoutDocument(document: LayoutDocument, modelOf: ModelByName): readonly DocumentFinding[] {
  const { mesh } = document;
  const facts = factsOfRole(document, { mesh, modelOf });
  const gpus = mesh === undefined ? undefined : gpusOf(mesh);
  return [
    ...findingsOf(document.layout, { ...facts, gpus }, 'layout'),
    ...(mesh === undefined ? [] : segmentFindings(mesh, document.layout, 'mesh')),
  ];
}

/** Errors and warnings about a job of several roles. */
export function checkJobLayout(job: JobLayout, modelOf: ModelByName): readonly DocumentFinding[] {
  return [
    ...error(
      Object.keys(job.roles).length === 0,
      'jobHasRoles',
      'roles',
      () => 'the job has no role; write at least one below roles, with its layout, and its mesh below roleMesh',
    ),
    ...Object.entries(job.roles).flatMap(([name, role]) => {
      const mesh = job.meshes[job.roleMesh[name] ?? ''];
      const facts = factsOfRole(role, { mesh, modelOf });
      return [...findingsOf(role.layout, facts, `roles.${name}.layout`), ...meshFindings(job, name)];
    }),
    ...unknownRoles(job),
    ...job.flows.flatMap((_, index) => flowFindings(job, index)),
    ...cycleFindings(job),
  ];
}

function findingsOf(layout: ParallelLayout, facts: LayoutFacts, at: string): readonly DocumentFinding[] {
  return layoutFindings(layout, facts).map(({ rule, severity, field, message }) => ({
    rule,
    severity,
    path: `${at}.${field.replaceAll('/', '.')}`,
    message,
  }));
}

function gpusOf(mesh: DeviceMesh): number {
  return mesh.gpusPerNode * mesh.segments.reduce((nodes, segment) => nodes + segment.nodes, 0);
}

/** FlagScale: unequal grids add up to one pipeline, share the context degree and take no chunks. */
function segmentFindings(mesh: DeviceMesh, layout: ParallelLayout, at: string): readonly DocumentFinding[] {
  const grids = mesh.segments.flatMap(({ grid }) => (grid === undefined ? [] : [grid]));
  if (grids.length === 0) return [];
  const stages = grids.reduce((sum, grid) => sum + grid.pipeline, 0);
  const contexts = new Set(grids.map((grid) => grid.context));
  const rule = 'segmentGridsMakeOnePipeline';
  return [
    ...error(
      grids.length !== mesh.segments.length,
      rule,
      `${at}.segments`,
      () => 'some segments have a grid and some have none; give every segment a grid, or none',
    ),
    ...error(
      stages !== layout.pipelineParallelDegree,
      rule,
      `${at}.segments`,
      () =>
        `the grids of the segments have ${stages} pipeline stages together, but pipelineParallelDegree is ${layout.pipelineParallelDegree}`,
    ),
    ...error(
      contexts.size > 1,
      rule,
      `${at}.segments`,
      () => `the grids of the segments have context degrees ${[...contexts].join(' and ')}; they must be equal`,
    ),
    ...error(
      (layout.pipeline?.chunksPerRank ?? 1) > 1,
      rule,
      'layout.pipeline.chunksPerRank',
      () => `segments with grids of their own require chunksPerRank 1, not ${layout.pipeline?.chunksPerRank ?? 1}`,
    ),
  ];
}

function meshFindings(job: JobLayout, role: string): readonly DocumentFinding[] {
  const meshName = job.roleMesh[role];
  const mesh = job.meshes[meshName ?? ''];
  const layout = job.roles[role]?.layout;
  if (meshName === undefined || mesh === undefined || layout === undefined) {
    const known = Object.keys(job.meshes).join(', ');
    return error(true, 'everyRoleHasAMesh', `roleMesh.${role}`, () =>
      meshName === undefined
        ? `role ${role} has no mesh; known meshes are ${known}`
        : `there is no mesh ${meshName}; known meshes are ${known}`,
    );
  }
  return error(
    worldSize(layout) > gpusOf(mesh),
    'rolesFitTheirMesh',
    `roles.${role}.layout`,
    () => `${formatLayout(layout)} needs ${worldSize(layout)} GPUs, but mesh ${meshName} has ${gpusOf(mesh)}`,
  );
}

function unknownRoles(job: JobLayout): readonly DocumentFinding[] {
  const known = Object.keys(job.roles);
  return Object.keys(job.roleMesh).flatMap((role) =>
    error(
      !known.includes(role),
      'everyRoleHasAMesh',
      `roleMesh.${role}`,
      () => `there is no role ${role}; known roles are ${known.join(', ')}`,
    ),
  );
}

function flowFindings(job: JobLayout, index: number): readonly DocumentFinding[] {
  const flow = job.flows[index];
  if (flow === undefined) return [];
  const at = `flows.${index}`;
  const known = Object.keys(job.roles).join(', ');
  const [from, to] = [job.roles[flow.from]?.layout, job.roles[flow.to]?.layout];
  if (from === undefined || to === undefined) {
    return error(
      true,
      'flowsJoinRoles',
      at,
      () => `there is no role ${from === undefined ? flow.from : flow.to}; known roles are ${known}`,
    );
  }
  const [one, other] = [from.tensorParallelDegree, to.tensorParallelDegree];
  const isLive = flow.kind === 'weights' && flow.via !== 'checkpoint';
  return error(
    isLive && one % other !== 0 && other % one !== 0,
    'weightsMoveBetweenDivisors',
    at,
    () =>
      `weights move from tensorParallelDegree ${one} to ${other}, and neither divides the other; set via to checkpoint`,
  );
}

/** Finds roles that wait for each other to end, so that none can start. */
function cycleFindings(job: JobLayout): readonly DocumentFinding[] {
  const waits = job.flows.filter((flow) => flow.everySteps === undefined);
  const done = new Set<string>();
  const roles = Object.keys(job.roles);
  for (;;) {
    const next = roles.find(
      (role) => !done.has(role) && waits.every((flow) => flow.to !== role || done.has(flow.from)),
    );
    if (next === undefined) break;
    done.add(next);
  }
  const stuck = roles.filter((role) => !done.has(role));
  const unknown = waits.some((flow) => !roles.includes(flow.from));
  return error(
    stuck.length > 0 && !unknown,
    'rolesCanStart',
    'flows',
    () => `roles ${stuck.join(', ')} wait for each other to end; set everySteps on one of their flows`,
  );
}

function error(isWrong: boolean, rule: string, path: string, message: () => string): readonly DocumentFinding[] {
  return isWrong ? [{ rule, severity: 'error', path, message: message() }] : [];
}
