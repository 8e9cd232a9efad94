import { engineNamed, LAYOUT_ENGINES } from './index.ts';

describe('the engine that a name means', () => {
  it.each(LAYOUT_ENGINES)('is %s by its own name', (engine) => {
    expect(engineNamed(engine)).toBe(engine);
  });

  it.each([
    ['in any case', 'TorchTitan', 'torchtitan'],
    ['with underscores', 'Megatron_LM', 'megatron-lm'],
    ['by the name of its package', 'transformers', 'hugging-face'],
    ['by the name of its launcher', 'accelerate', 'hugging-face'],
    ['written as one word', 'HuggingFace', 'hugging-face'],
    ['with a space', 'Megatron Bridge', 'megatron-bridge'],
  ])('is found %s', (_how, name, engine) => {
    expect(engineNamed(name)).toBe(engine);
  });

  it.each(['', 'nobody', 'megatron', '__proto__', 'constructor', 'toString'])('is not known: %j', (name) => {
    expect(engineNamed(name)).toBeUndefined();
  });
});
