import { ENGINE_NAMES, TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { z } from 'zod';
import { ENGINE_GUIDES } from './engine-guides.ts';
import { renderEngine } from './render-engine.ts';

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const whole = z.toJSONSchema(TrainingJobSpec, { io: 'input', target: 'draft-2020-12' }) as Schema;

function resolved(schema: Schema): Schema {
  const { $ref, allOf = [] } = schema;
  if ($ref !== undefined) return resolved(whole.$defs?.[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {});
  const [only] = allOf;
  return only === undefined ? schema : resolved(only);
}

/** Whether a spec can say the field; what stands in a list is named without the list. */
function isField(field: string): boolean {
  let at = resolved(whole);
  for (const part of field.split('.')) {
    const inside = at.items === undefined ? at : resolved(at.items);
    const next = inside.properties?.[part];
    if (next === undefined) return false;
    at = resolved(next);
  }
  return true;
}

describe.each(ENGINE_NAMES)('what is said of engine %s', (name) => {
  const { fields, traps } = ENGINE_GUIDES[name];

  it('names fields that a job has', () => {
    expect(fields.map(({ field }) => field).filter((field) => !isField(field))).toEqual([]);
  });

  it('says of each field once where it goes', () => {
    const documented = fields.map(({ field, to }) => `${field} → ${to}`);
    expect(documented).toEqual([...new Set(documented)]);
  });

  it('says of each trap what is done about it and where it was seen', () => {
    expect(traps.filter(({ what, answer, source }) => [what, answer, source].includes(''))).toEqual([]);
  });
});

it('a field that there is not is seen', () => {
  expect(
    ['layout.tensorParallelDegree', 'layout.tensorDegree', 'engine.env.value', 'model.layers.x'].map(isField),
  ).toEqual([true, false, true, false]);
});

describe('what is said of engine reference', () => {
  const rendered = renderEngine(
    aJobSpec({
      training: {
        steps: 100,
        globalBatchSize: 8,
        optimizer: { beta1: 0.8, beta2: 0.99, epsilon: 1e-6, clipNorm: 0.5 },
        schedule: { name: 'wsd', decaySteps: 10 },
      },
    }),
  );
  const flags = rendered.kind === 'rendered' ? rendered.command.filter((field) => field.startsWith('--')) : [];

  it('is every flag that it is given, and no other', () => {
    const documented = ENGINE_GUIDES.reference.fields.map(({ to }) => to).filter((to) => to.startsWith('--'));
    expect([...new Set(documented)].sort()).toEqual([...new Set(flags)].sort());
  });
});
