import { ENGINE_RELEASES } from '@coxswain/api-types';
import { readArguments } from '../megatron/read-arguments.ts';
import { MEGATRON_RELEASES, megatronRelease } from '../megatron/releases.ts';
import { aDraft, CAPABILITIES, type Change, soundJobs, specOf } from '../megatron/testing/index.ts';
import { renderEngine } from '../render-engine.ts';
import type { RenderContext, RenderedEngine } from '../rendering.ts';

function render(change: Change, context: RenderContext = {}): ReturnType<typeof renderEngine> {
  const draft = aDraft();
  draft.engine.release = 'core_v0.16.1';
  change(draft);
  return renderEngine(specOf(draft), context);
}

function rendered(change: Change, context: RenderContext = {}): RenderedEngine {
  const rendering = render(change, context);
  if (rendering.kind === 'refused') throw new Error(`${rendering.rule}: ${rendering.why}`);
  return rendering;
}

const capability = (name: string): Change => {
  const change = CAPABILITIES[name];
  if (change === undefined) throw new Error(`there is no capability "${name}"`);
  return change;
};

describe('a job of Megatron-LM', () => {
  it('is told model, degrees, rates, data and checkpoints in arguments of its release', () => {
    expect(rendered(capability('tensor parallelism')).command.join(' ')).toBe(
      'python3 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 16 --kv-channels 64 ' +
        '--swiglu --normalization RMSNorm --disable-bias-linear --attention-dropout 0.0 --hidden-dropout 0.0 ' +
        '--untie-embeddings-and-output-weights --seq-length 2048 --position-embedding-type rope --max-position-embeddings 2048 ' +
        '--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --context-parallel-size 1 --sequence-parallel --bf16 ' +
        '--train-iters 100 --global-batch-size 64 --micro-batch-size 1 --lr 0.001 --min-lr 0.0001 --lr-warmup-iters 0 ' +
        '--lr-decay-iters 100 --weight-decay 0.1 --seed 1234 --log-interval 1 --mock-data --split 1,0,0 --eval-iters 0 ' +
        '--tokenizer-type NullTokenizer --vocab-size 32767 --save $(COXSWAIN_SAVE_DIR) --save-interval 20 ' +
        '--exit-signal-handler --ckpt-format torch_dist',
    );
  });

  it('resumes from the step that its launcher names, told only where there is one', () => {
    const { resumeArgs, command, checkpoints, stepLines } = rendered(() => undefined);
    expect(resumeArgs).toEqual(['--load', '$(COXSWAIN_RESUME_ROOT)', '--ckpt-step', '$(COXSWAIN_RESUME_STEP)']);
    expect(command).not.toContain('--load');
    expect([checkpoints, stepLines]).toEqual(['torch_dist', 'megatron']);
  });

  it.each<[string, Change, string]>([
    ['listed stages', capability('listed stages'), '--pipeline-model-parallel-layout Et*5|t*3L'],
    [
      'chunks',
      capability('group of micro-batches'),
      '--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 4',
    ],
    ['gathered context as Transformer Engine spells it', capability('gathered context'), '--cp-comm-type all_gather'],
    [
      'both levels of context',
      capability('two levels of context'),
      '--cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 2 2',
    ],
    [
      'saving beside training with the worker without which it is dropped',
      capability('checkpoints beside training'),
      '--async-save --use-persistent-ckpt-worker',
    ],
    ['that the softmax learns sinks', capability('attention sinks'), '--softmax-type learnable'],
    ['weighted data', capability('weighted data'), '--data-path 0.3 /coxswain/data/a 1 /coxswain/data/b'],
    ['a pattern of layers with its program', capability('a pattern of layers'), 'python3 pretrain_mamba.py'],
    [
      'bias against uneven experts with the scores that it needs',
      capability('experts by DeepEP'),
      '--moe-router-enable-expert-bias --moe-router-score-function sigmoid',
    ],
  ])('is told %s', (_sentence, change, words) => {
    expect(rendered(change).command.join(' ')).toContain(words);
  });

  it.each<[string, Change, RenderContext, string | undefined]>([
    ['1 for tensors on Hopper', capability('tensor parallelism'), { gpu: 'h100-sxm' }, '1'],
    ['1 for context where GPUs are not known', capability('ring of context'), {}, '1'],
    ['nothing for tensors on Blackwell', capability('tensor parallelism'), { gpu: 'b200-sxm' }, undefined],
    ['several for Megatron-FSDP', capability('Megatron-FSDP'), {}, '8'],
    ['many for experts whose exchange overlaps', capability('overlapped experts'), {}, '32'],
    ['nothing for data parallelism alone', () => undefined, {}, undefined],
  ])('gets as many connections of a GPU as it needs: %s', (_sentence, change, context, connections) => {
    expect(rendered(change, context).env['CUDA_DEVICE_MAX_CONNECTIONS']).toBe(connections);
  });

  it('is told the networks of its groups in a file', () => {
    const { command, files } = rendered(capability('networks of groups'));
    expect(command.join(' ')).toContain('--nccl-communicator-config-path $(COXSWAIN_ENGINE_FILES)/nccl.yaml');
    expect(files).toEqual([
      {
        path: 'nccl.yaml',
        text: [
          ...['dp', 'dp_cp', 'tp_dp', 'tp_dp_cp', 'ep_dp'].map((group) => `${group}:\n  net_name: IB\n`),
          ...['pp', 'embd', 'pos_embd', 'mp', 'tp_ep_pp'].map((group) => `${group}:\n  net_name: Socket\n`),
        ].join(''),
      },
    ]);
  });
});

describe('arguments of the user', () => {
  it.each<[string, readonly string[]]>([
    ['what no word of the job says', ['--rotary-base', '500000', '--moe-aux-loss-coeff', '0.02']],
    ['what is told by itself, otherwise', ['--log-interval', '10']],
    ['what the job says too, in the same words', ['--tensor-model-parallel-size', '1']],
  ])('are taken: %s', (_sentence, args) => {
    expect(
      rendered(({ engine }) => {
        engine.args = [...args];
      }).command.slice(-args.length),
    ).toEqual(args);
  });

  it.each<[string, readonly string[], RegExp]>([
    [
      'another degree',
      ['--tensor-model-parallel-size', '2'],
      /engine.args holds --tensor-model-parallel-size, and layout.tensorParallelDegree renders/,
    ],
    ['the same behind a sign', ['--tensor-model-parallel-size=2'], /layout.tensorParallelDegree/],
    ['a switch that the layout leaves out', ['--sequence-parallel'], /which layout.sequence.sequenceParallel decides/],
    ['stages under another name', ['--num-layers-per-virtual-pipeline-stage', '1'], /layout.pipeline.chunksPerRank/],
    ['where to load from', ['--load', '/x'], /resumeFrom/],
    ['words in a file', ['--yaml-cfg', 'x.yaml'], /which layout decides/],
    ['checkpoints without the optimizer', ['--no-save-optim'], /which checkpoint decides/],
    ['a resumed start without the optimizer', ['--no-load-optim'], /which checkpoint decides/],
    ['an end before the last step', ['--exit-interval', '5'], /which training decides/],
    ['starts beside those of the launcher', ['--inprocess-restart'], /which layout decides/],
    [
      'an abbreviation, which the parser has none of',
      ['--tensor-model-parallel', '2'],
      /--tensor-model-parallel is no option of Megatron-LM core_v0.16.1/,
    ],
    ['an option of another release', ['--activation-offload-fraction', '0.5'], /is no option/],
  ])('are refused: %s', (_sentence, args, why) => {
    const rendering = render(({ engine }) => {
      engine.args = [...args];
    });
    expect(rendering).toMatchObject({
      kind: 'refused',
      field: 'engine.args',
      why: expect.stringMatching(why) as string,
    });
  });

  it('are refused in the command as well, where what is rendered would say nothing against them', () => {
    const rendering = render(({ engine }) => {
      engine.command = ['python3', 'pretrain_gpt.py', '--fp16'];
    });
    expect(rendering).toMatchObject({
      kind: 'refused',
      field: 'engine.command',
      why: expect.stringMatching(/^engine.command holds --fp16, (which|and) layout.kernel.precision /) as string,
    });
  });

  it('of a program of the user’s own may be options that it adds', () => {
    const args = ['--my-option', '3'];
    const own = rendered(({ engine }) => Object.assign(engine, { args, command: ['python3', 'mine.py'] }));
    expect(own.command.slice(0, 2)).toEqual(['python3', 'mine.py']);
    expect(own.command.slice(-2)).toEqual(args);
  });

  it.each<[string, readonly string[], RegExp | undefined]>([
    ['an option', ['--xielu'], /does not list --xielu; passed to your program as given, and not priced/],
    ['an option with its value', ['--qknorm-impl', 'apex'], /does not list --qknorm-impl;/],
    ['a value of an option', ['--optimizer', 'ademamix'], /does not list --optimizer ademamix;/],
    ['and nothing that the release lists', ['--rotary-base', '500000'], undefined],
  ])('of a fork are passed on with a note: %s', (_sentence, args, note) => {
    const command = ['/workspace/fork/pretrain_gpt.py'];
    const own = rendered(({ engine }) => Object.assign(engine, { args, command }));
    expect(own.command.slice(-args.length)).toEqual(args);
    const passed = own.notes.filter((one) => one.includes('passed to your program'));
    expect(passed).toEqual(note === undefined ? [] : [expect.stringMatching(note)]);
  });

  it.each<[string, readonly string[], RegExp]>([
    ['a slip', ['--no-bias-swiglu-fusio'], /--no-bias-swiglu-fusio is no option/],
    ['an abbreviation', ['--tensor-model-parallel', '2'], /--tensor-model-parallel is no option/],
    ['a word in place of a number', ['--rotary-base', 'many'], /--rotary-base many is not of type/],
    ['what the layout decides', ['--tensor-model-parallel-size', '2'], /layout.tensorParallelDegree renders/],
  ])('of a fork are refused nevertheless: %s', (_sentence, args, why) => {
    const command = ['/workspace/fork/pretrain_gpt.py'];
    const rendering = render(({ engine }) => Object.assign(engine, { args, command }));
    expect(rendering).toMatchObject({ kind: 'refused', why: expect.stringMatching(why) as string });
  });

  it('are all refused at once, each with its way out', () => {
    const rendering = render(({ engine }) => {
      engine.args = [
        '--xielu',
        '--goldfish-k',
        '50',
        '--optimizer',
        'ademamix',
        '--fp16',
        '--lr-warmup-fraction',
        '.1',
      ];
    });
    expect(rendering).toMatchObject({
      why: expect.stringMatching(
        /^--xielu is no option .*; --goldfish-k is no option .*; --optimizer ademamix is not one of .*; engine.args holds --fp16, .*; engine.args holds --lr-warmup-fraction, which training decides$/,
      ) as string,
      fallback: expect.stringMatching(
        /^an option of your fork goes into engine.options.*; set layout.kernel.precision instead.*; leave --lr-warmup-fraction out: training has no field for it$/,
      ) as string,
    });
  });

  it('may let the batch grow, as training.batchRampUp does', () => {
    const args = ['--rampup-batch-size', '2', '2', '64'];
    const grown = rendered(({ engine }) => Object.assign(engine, { args }));
    expect(grown.command.slice(-4)).toEqual(args);
  });

  it('name what was probably meant', () => {
    const rendering = render(({ engine }) => {
      engine.args = ['--no-bias-swiglu-fusio'];
    });
    expect(rendering).toMatchObject({
      fallback:
        'did you mean --no-bias-swiglu-fusion? an option of your fork goes into engine.options, which passes it through',
    });
  });

  it.each([
    [
      'the whole of what was begun',
      '--tensor-model',
      'did you mean --tensor-model-parallel-size? an option of your fork goes into engine.options, which passes it through',
    ],
    [
      'nothing where nothing is like it',
      '--tp',
      'an option of your fork goes into engine.options, which passes it through',
    ],
  ])('name %s', (_sentence, arg, fallback) => {
    const rendering = render(({ engine }) => {
      engine.args = [arg];
    });
    expect(rendering).toMatchObject({ fallback });
  });
});

it('variables that contradict the layout are refused', () => {
  const rendering = render((draft) => {
    capability('tensor parallelism')(draft);
    Object.assign(draft.engine, { env: [{ name: 'CUDA_DEVICE_MAX_CONNECTIONS', value: '8' }] });
  });
  expect(rendering).toMatchObject({
    rule: 'variables-agree-with-job',
    why: 'this layout needs CUDA_DEVICE_MAX_CONNECTIONS=1',
  });
});

it.each<[string, Change, object]>([
  [
    'on a ring of context',
    capability('ring of context'),
    { rule: 'sinks-need-ulysses', field: 'layout.sequence.contextAlgorithm' },
  ],
  [
    'beside a softmax without them',
    ({ layout }) => Object.assign(layout, { kernel: { softmax: 'off-by-one' } }),
    { rule: 'sinks-are-learnt', field: 'layout.kernel.softmax' },
  ],
])('attention sinks are refused %s', (_where, change, refusal) => {
  const rendering = render((draft) => {
    change(draft);
    capability('attention sinks')(draft);
  });
  expect(rendering).toMatchObject(refusal);
});

it('a variable that overrides the networks of groups is refused', () => {
  const rendering = render((draft) => {
    capability('networks of groups')(draft);
    Object.assign(draft.engine, { env: [{ name: 'NCCL_NET', value: 'IB' }] });
  });
  expect(rendering).toMatchObject({
    rule: 'group-networks-without-nccl-net',
    fallback: expect.stringMatching(/^leave NCCL_NET out/) as string,
  });
});

it('a word that a release has no option for names the releases that have it', () => {
  expect(render(capability('half of activations in host memory'))).toMatchObject({
    rule: 'release-has-option',
    field: 'layout.memory.offload.fraction',
    fallback: 'set engine.release to core_v0.19.0, or leave layout.memory.offload.fraction out',
  });
});

it('every release that jobs may name is known', () => {
  expect(ENGINE_RELEASES['megatron-lm'].filter((name) => megatronRelease(name) === undefined)).toEqual([]);
});

/** Capabilities that came later. */
const ROOM = ['full graphs beside experts', 'full graphs beside experts, with nothing saved'];
const ABSENT: Readonly<Record<number, readonly string[]>> = {
  15: [
    ...['dynamic sequences', 'activations in host memory', 'half of activations in host memory'],
    ...['muon', 'lion', 'experts by HybridEP', 'shards of weights'],
    ...ROOM,
  ],
  16: ['half of activations in host memory', 'lion', 'shards of weights', ...ROOM],
  17: ['half of activations in host memory', 'shards of weights', ...ROOM],
  18: ['half of activations in host memory', 'shards of weights'],
};

describe.each(MEGATRON_RELEASES)('every sound job of $tag', (release) => {
  const jobs = soundJobs(release, { times: 1, seed: 1 });

  it('is written in options that its parser reads back, each once, and says its world', () => {
    for (const { args, worldSize: ranks } of jobs) {
      const { read, problems } = readArguments(args, release.options);
      expect(problems).toEqual([]);
      expect(read.map(({ flag }) => flag)).toEqual([...new Set(read.map(({ flag }) => flag))]);
      const of = (dest: string): number => Number(read.find((one) => one.dest === dest)?.values[0]);
      const model = of('tensor_model_parallel_size') * of('pipeline_model_parallel_size') * of('context_parallel_size');
      expect(ranks % model).toBe(0);
    }
  });

  it('shows each capability that the release has', () => {
    const shown = new Set(jobs.map(({ capability: name }) => name));
    expect(Object.keys(CAPABILITIES).filter((name) => !shown.has(name))).toEqual(ABSENT[release.minor] ?? []);
  });
});
