import { readFileSync } from 'node:fs';
import { ROUTE_RULES } from './access-rules.ts';
import { isStopMutation, isStopRoute } from './stops.ts';

/** As the router has it. */
const routerForm = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

describe('requests that stop a job', () => {
  const routes = Object.keys(ROUTE_RULES).filter((route) => {
    const [method = '', path = ''] = route.split(' ');
    return isStopRoute(method, routerForm(path));
  });

  it('are the same over REST and GraphQL', () => {
    const schema = readFileSync(new URL('../graphql/schema.generated.graphql', import.meta.url), 'utf8');
    const mutations = /^type Mutation \{(.*?)^\}/ms.exec(schema)?.[1] ?? '';
    const stops = [...mutations.matchAll(/^ {2}(\w+)\(/gm)].map(([, name = '']) => name).filter(isStopMutation);
    expect(routes).toEqual([
      'DELETE /v1/projects/{project}/jobs/{jobId}',
      'POST /v1/projects/{project}/jobs/{jobId}/suspend',
      'POST /v1/projects/{project}/jobs/{jobId}/cancel',
    ]);
    expect(stops.toSorted()).toEqual(['cancelJob', 'deleteJob', 'suspendJob']);
  });
});
