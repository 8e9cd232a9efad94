import { CacheScript } from '../testing/a-cluster-cache.ts';
import { FabricSurvey } from './fabric-survey.ts';

it.each<readonly [string, (script: CacheScript) => void, readonly string[]]>([
  ['all nodes', () => undefined, ['node-a', 'node-b']],
  ['a node that was added meanwhile', (script) => script.node('node-c', { gpus: 8 }), ['node-a', 'node-b', 'node-c']],
  ['no node that lost its GPUs meanwhile', (script) => script.node('node-b', { gpus: 0 }), ['node-a']],
])('a fabric that is worked out in parts has %s', async (_sentence, happens, want) => {
  const script = new CacheScript();
  for (const name of ['node-a', 'node-b']) script.node(name, { gpus: 8 });
  const survey = new FabricSurvey(script.cache);
  const prepared = survey.prepare();
  happens(script);
  await prepared;
  expect([...survey.graph().nodes.keys()]).toEqual(want);
});
