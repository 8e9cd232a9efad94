/** Requests of all kinds to the API, made from its OpenAPI document and GraphQL schema: as many as take seconds. `npm run campaign -- fuzz-api` sends 100,000. */
import { Findings } from './fuzz-api/findings.ts';
import { OwnFuzzer } from './fuzz-api/own-fuzzer.ts';
import { type FuzzWorld, startFuzzWorld } from './fuzz-api/world.ts';
import { Dice } from './support/random.ts';

/** Each operation of REST and GraphQL is asked about six times. */
const REQUESTS = 1_000;
const SEED = 1;
/** The campaign asks for these: streams go on, and a plan takes as long as hundreds of other requests. */
const LEFT_TO_THE_CAMPAIGN =
  /\/(?:logs|events\/stream)$|^POST \/v1\/projects\/\{project\}\/plans$|^mutation createPlan$/;

let world: FuzzWorld;
let findings: Findings;
let first: { readonly fabric: number; readonly stacks: number };

beforeAll(async () => {
  const dice = new Dice(SEED);
  world = await startFuzzWorld();
  findings = new Findings(world.canary);
  first = await askClusterAndOperator(dice);
  const document: unknown = await (await fetch(`${world.url}/openapi.json`)).json();
  const fuzzer = new OwnFuzzer(world, { document, dice, findings });
  await fuzzer.run({ isOver: () => findings.total >= REQUESTS });
});

afterAll(async () => {
  await world?.stop({ keepLogs: false });
});

/** Statuses of what needs a cluster and an operator. */
async function askClusterAndOperator(dice: Dice): Promise<{ readonly fabric: number; readonly stacks: number }> {
  const { administrator, own } = world.tenants;
  const headers = { authorization: `Bearer ${administrator.token ?? ''}` };
  const job = own.pick('/v1/projects/{project}/jobs/{jobId}', 'jobId', dice) ?? '';
  const fabric = await fetch(`${world.url}/v1/fabric`, { headers });
  const stacks = await fetch(`${world.url}/v1/projects/${own.project}/jobs/${job}/stacks`, { method: 'POST', headers });
  return { fabric: fabric.status, stacks: stacks.status };
}

describe(`${REQUESTS} requests, half of them wrong,`, () => {
  it('get no failure of the server, no answer that the document does not state, and no byte of the other tenant', () => {
    expect(findings.violations).toEqual([]);
  });

  it('ask every operation', () => {
    const unasked = findings.neverAnswered(/./, /./).filter((name) => !LEFT_TO_THE_CAMPAIGN.test(name));
    expect(unasked).toEqual([]);
  });

  it('reach a cluster and an operator that answer', () => {
    expect(first).toEqual({ fabric: 200, stacks: 200 });
  });
});
