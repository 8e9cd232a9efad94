"""What a job says, as TorchTitan's configuration. Made for release 0.3.0, whose configurations are functions of Python modules.

The launcher writes this file beside `torchtitan.json`, which holds everything that the job says; here stands only how
TorchTitan is told. As a program it runs TorchTitan with this directory on the path:

    python3 coxswain_torchtitan.py --module coxswain_torchtitan --config job [--section.field VALUE ...]

More than 400 lines: it is one file, because it is written whole beside what each job says.
"""

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

SAID = json.loads((Path(__file__).parent / 'torchtitan.json').read_text(encoding='utf-8'))


def job():
    """The configuration that `--config job` names."""
    from torchtitan.trainer import Trainer

    recipe = SAID.get('recipe')
    config = Trainer.Config() if recipe is None else _recipe(recipe)
    if recipe is None:
        _build_model(config)
    else:
        _hold_against(SAID['model'], config.model_spec.model)
    for name, value in SAID['settings'].items():
        _set(config, name, value)
    if 'optimizer' in SAID:
        config.optimizer = _optimizer(SAID['optimizer'], config.optimizer)
    if 'activation_checkpoint' in SAID:
        config.activation_checkpoint = _activation_checkpoint(**SAID['activation_checkpoint'])
    if 'data' in SAID:
        _read_data(config, SAID['data'])
    return config


def _recipe(name: str):
    module, _, function = name.partition(':')
    return getattr(import_module(module), function)()


def _set(config: object, name: str, value: object) -> None:
    *sections, field = name.split('.')
    for section in sections:
        config = getattr(config, section)
    if not hasattr(config, field):
        raise SystemExit(f'this TorchTitan has no setting {name}; take an image with the release that the job names')
    setattr(config, field, value)


def _optimizer(said: dict[str, Any], before: object):
    from torchtitan.components.optimizer import OptimizersContainer, ParamGroupConfig

    arguments = dict(said)
    group = ParamGroupConfig(
        pattern='.*',
        optimizer_name=arguments.pop('name'),
        optimizer_kwargs={
            'lr': arguments['lr'],
            'betas': (arguments['beta1'], arguments['beta2']),
            'eps': arguments['eps'],
            'weight_decay': arguments['weight_decay'],
        },
    )
    return OptimizersContainer.Config(param_groups=[group], implementation=before.implementation)


def _activation_checkpoint(mode: str, **fields: float):
    from torchtitan.distributed.activation_checkpoint import FullAC, MemoryBudgetAC, SelectiveAC

    modes = {'selective': SelectiveAC, 'full': FullAC, 'memory-budget': MemoryBudgetAC}
    return None if mode == 'none' else modes[mode].Config(**fields)


# The model


def _hold_against(said: dict[str, Any], model: Any) -> None:
    """Ends where a recipe's model is not the one that the job says: its layout was planned and checked for that one."""
    attention = model.first_attention
    has = {
        'layers': len(model.layers),
        'hidden_size': model.dim,
        'vocabulary_size': model.vocab_size,
        'attention_heads': attention.n_heads,
        'key_value_heads': getattr(attention, 'n_kv_heads', None) or attention.n_heads,
    }
    wrong = [f'{name} {has[name]} instead of {said[name]}' for name in has if name in said and said[name] != has[name]]
    if wrong:
        raise SystemExit(f'the model of {SAID["recipe"]} has {", ".join(wrong)}; give the job the sizes of its recipe')


def _build_model(config: Any) -> None:
    from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss

    said = SAID['model']
    builders = {'llama3': _llama3, 'qwen3': _qwen3, 'deepseek_v3': _deepseek_v3}
    config.model_spec = builders[said['family']](said, _converters(said))
    loss = CrossEntropyLoss.Config(global_vocab_size=said['vocabulary_size'])
    config.loss = ChunkedLossWrapper.Config(loss_fn=loss)


def _converters(said: dict[str, Any]) -> list[Any]:
    from torchtitan.components import quantization

    precision = said.get('precision')
    if precision is None:
        return []
    converter = {'fp8': 'Float8LinearConverter', 'mxfp8': 'MXFP8LinearConverter'}[precision]
    return [getattr(quantization, converter).Config(model_compile_enabled=True)]


def _ends(said: dict[str, Any], package: Any, norm: Any, output_init: Any) -> dict[str, Any]:
    """What stands before and after the layers of every decoder."""
    from torchtitan.models.common import Embedding, Linear

    dim, vocabulary, tied = said['hidden_size'], said['vocabulary_size'], said['tied_embeddings']
    init = package._EMBEDDING_SKIP_INIT if tied else package._EMBEDDING_INIT
    return {
        'dim': dim,
        'vocab_size': vocabulary,
        'tok_embeddings': Embedding.Config(num_embeddings=vocabulary, embedding_dim=dim, param_init=init),
        'norm': norm,
        'lm_head': Linear.Config(in_features=dim, out_features=vocabulary, param_init=output_init),
        **({'enable_weight_tying': True} if tied else {}),
    }


def _heads(said: dict[str, Any]) -> dict[str, Any]:
    """Grouped-query attention, as far as every family says it alike."""
    from torchtitan.models.common.config_utils import get_attention_config

    return {
        'dim': said['hidden_size'],
        'n_heads': said['attention_heads'],
        'n_kv_heads': said['key_value_heads'],
        'head_dim': said['head_dim'],
        'inner_attention': get_attention_config('flex'),
        'fuse_qkv': True,
    }


def _rope(said: dict[str, Any], kind: Any, dim: int):
    return kind.Config(dim=dim, max_seq_len=said['sequence_length'], **said['rope'])


def _spec(package: Any, model: Any, converters: list[Any], **functions: Any):
    from torchtitan.distributed.pipeline_parallel import pipeline_llm
    from torchtitan.protocols.model_spec import ModelSpec

    for converter in converters:
        model = converter.build().convert(model)
    name = package.__name__.rpartition('.')[2]
    return ModelSpec(name=name, flavor='job', model=model, pipelining_fn=pipeline_llm, **functions)


def _llama3(said: dict[str, Any], converters: list[Any]):
    from torchtitan.models import llama3 as package
    from torchtitan.models.common import ComplexRoPE, RMSNorm
    from torchtitan.models.common.config_utils import make_ffn_config, make_gqa_config

    dim = said['hidden_size']
    rope = _rope(said, ComplexRoPE, said['head_dim'])

    def norm():
        return RMSNorm.Config(normalized_shape=dim, param_init=package._NORM_INIT)

    layers = [
        package.Llama3TransformerBlock.Config(
            attention_norm=norm(),
            ffn_norm=norm(),
            attention=make_gqa_config(
                wqkv_param_init=package._LINEAR_INIT, wo_param_init=package._depth_init(layer), rope=rope, **_heads(said)
            ),
            feed_forward=make_ffn_config(
                dim=dim,
                hidden_dim=said['ffn_hidden_size'],
                w1_param_init=package._LINEAR_INIT,
                w2w3_param_init=package._depth_init(layer),
            ),
        )
        for layer in range(said['layers'])
    ]
    ends = _ends(said, package, norm(), package._output_linear_init(dim))
    return _spec(
        package,
        package.Llama3Model.Config(layers=layers, **ends),
        converters,
        parallelize_fn=package.parallelize_llama,
        post_optimizer_build_fn=None,
        state_dict_adapter=package.Llama3StateDictAdapter,
    )


def _qwen3(said: dict[str, Any], converters: list[Any]):
    from torchtitan.models import qwen3 as package
    from torchtitan.models.common import CosSinRoPE
    from torchtitan.models.common.config_utils import make_ffn_config, make_gqa_config

    dim, experts = said['hidden_size'], said.get('experts')
    rope = _rope(said, CosSinRoPE, said['head_dim'])
    output_init = package._residual_output_init(said['layers']) if experts else package._LINEAR_INIT

    def inner() -> dict[str, Any]:
        if experts:
            return {'moe': _experts(said, package, package._moe_experts_init(said['layers']))}
        init = package._LINEAR_INIT
        hidden = said['ffn_hidden_size']
        return {'feed_forward': make_ffn_config(dim=dim, hidden_dim=hidden, w1_param_init=init, w2w3_param_init=init)}

    layers = [
        package.Qwen3TransformerBlock.Config(
            attention_norm=package._qwen3_norm(dim),
            ffn_norm=package._qwen3_norm(dim),
            attention=make_gqa_config(
                wqkv_param_init=package._LINEAR_INIT,
                wo_param_init=output_init,
                rope=rope,
                qk_norm=package._qwen3_norm(said['head_dim']) if said['head_norms'] else None,
                **_heads(said),
            ),
            **inner(),
        )
        for _ in range(said['layers'])
    ]
    ends = _ends(said, package, package._qwen3_norm(dim), package._LINEAR_INIT)
    return _spec(
        package,
        package.Qwen3Model.Config(layers=layers, **ends),
        converters,
        parallelize_fn=package.parallelize_qwen3,
        post_optimizer_build_fn=package.register_moe_load_balancing_hook,
        state_dict_adapter=package.Qwen3StateDictAdapter,
    )


def _experts(said: dict[str, Any], package: Any, experts_init: dict[str, Any]):
    from torchtitan.models.common.config_utils import make_moe_config, make_routed_experts_config, make_router_config

    experts = said['experts']
    count, top_k = experts['count'], experts['top_k']
    router = make_router_config(
        dim=said['hidden_size'],
        num_experts=count,
        gate_param_init=package._LINEAR_INIT,
        top_k=top_k,
        score_func='softmax',
        route_norm=True,
    )
    routed = make_routed_experts_config(
        dim=said['hidden_size'],
        hidden_dim=experts['ffn_hidden_size'],
        num_experts=count,
        top_k=top_k,
        param_init=experts_init,
        comm_backend=experts['dispatcher'],
    )
    balance = experts['load_balance_coeff']
    return make_moe_config(num_experts=count, router=router, routed_experts=routed, load_balance_coeff=balance)


def _deepseek_v3(said: dict[str, Any], converters: list[Any]):
    from torchtitan.models import deepseek_v3 as package
    from torchtitan.models.common import ComplexRoPE, RMSNorm

    dim, experts, latent = said['hidden_size'], said['experts'], said['latent_attention']
    layers = package._build_dsv3_layers(
        n_layers=said['layers'],
        n_dense_layers=experts['dense_layers'],
        dim=dim,
        n_heads=said['attention_heads'],
        q_lora_rank=latent['query_rank'],
        kv_lora_rank=latent['key_value_rank'],
        qk_nope_head_dim=latent['nope_head_dim'],
        qk_rope_head_dim=latent['rope_head_dim'],
        v_head_dim=latent['value_head_dim'],
        mscale=1.0,
        dense_hidden_dim=said['ffn_hidden_size'],
        moe_hidden_dim=experts['ffn_hidden_size'],
        num_experts=experts['count'],
        num_shared_experts=experts['shared'],
        router_top_k=experts['top_k'],
        router_score_func='sigmoid',
        router_route_norm=True,
        attn_backend='flex',
        moe_comm_backend=experts['dispatcher'],
        non_blocking_capacity_factor=None,
        rope=_rope(said, ComplexRoPE, latent['rope_head_dim']),
    )
    for layer in layers:
        if layer.moe is not None:
            layer.moe.load_balance_coeff = experts['load_balance_coeff']
    norm = RMSNorm.Config(normalized_shape=dim, param_init=package._NORM_INIT)
    ends = _ends(said, package, norm, package._output_linear_init(dim))
    return _spec(
        package,
        package.DeepSeekV3Model.Config(layers=layers, mtp_layers=[], **ends),
        converters,
        parallelize_fn=package.parallelize_deepseekv3,
        post_optimizer_build_fn=package.register_moe_load_balancing_hook,
        state_dict_adapter=package.DeepSeekV3StateDictAdapter,
    )


# The data


def _read_data(config: Any, said: dict[str, Any]) -> None:
    if said['format'] == 'mock':
        config.dataloader = RandomTokens.Config(vocabulary=SAID['model']['vocabulary_size'], seed=said['seed'])
        config.tokenizer = NoTokenizer.Config()
        return
    from torchtitan.hf_datasets import DatasetConfig, text_datasets

    name = f'coxswain_{said["format"]}'
    read = {'jsonl': _read_jsonl, 'text': _read_text, 'hf': _read_saved}[said['format']]
    text_datasets.DATASETS[name] = DatasetConfig(path='', loader=read, sample_processor=lambda sample: sample['text'])
    sources = said['sources']
    if len(sources) == 1:
        path = sources[0]['path']
        config.dataloader = text_datasets.HuggingFaceTextDataLoader.Config(dataset=name, dataset_path=path)
        return
    config.dataloader = text_datasets.InterleavedHuggingFaceTextDataLoader.Config(
        sources=[
            text_datasets.HFDataSource(dataset=name, dataset_path=source['path'], weight=source['weight'])
            for source in sources
        ],
        seed=said['seed'],
    )


def _files(path: str, pattern: str) -> list[str]:
    found = sorted(str(one) for one in Path(path).rglob(pattern)) if Path(path).is_dir() else [path]
    if not found:
        raise SystemExit(f'there is no {pattern} below {path}')
    return found


def _read_jsonl(path: str):
    from datasets import load_dataset

    return load_dataset('json', data_files=_files(path, '*.jsonl'), split='train')


def _read_text(path: str):
    from datasets import load_dataset

    return load_dataset('text', data_files=_files(path, '*.txt'), sample_by='document', split='train')


def _read_saved(path: str):
    from datasets import load_from_disk

    return load_from_disk(path)


class _Tokens(torch.utils.data.IterableDataset):
    """Tokens without meaning, other ones for each data-parallel rank; goes on where it was saved."""

    def __init__(self, vocabulary: int, length: int, seed: int) -> None:
        self._vocabulary, self._length, self._seed, self._seen = vocabulary, length, seed, 0

    def __iter__(self):
        while True:
            generator = torch.Generator().manual_seed(self._seed + self._seen)
            self._seen += 1
            tokens = torch.randint(self._vocabulary, (self._length + 1,), generator=generator)
            yield {'input': tokens[:-1], 'positions': torch.arange(self._length)}, tokens[1:]

    def state_dict(self) -> dict[str, int]:
        return {'seen': self._seen}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._seen = state['seen']


def _mock_classes():
    from torchtitan.components.dataloader import ParallelAwareDataloader
    from torchtitan.components.tokenizer import BaseTokenizer

    class RandomTokens(ParallelAwareDataloader):
        @dataclass(kw_only=True, slots=True)
        class Config(ParallelAwareDataloader.Config):
            vocabulary: int = 0
            seed: int = 0

        def __init__(self, config, *, dp_world_size, dp_rank, seq_len, local_batch_size, **rest) -> None:
            apart = config.seed + dp_rank * 1_000_003
            super().__init__(
                _Tokens(config.vocabulary, seq_len, apart),
                dp_rank=dp_rank,
                dp_world_size=dp_world_size,
                batch_size=local_batch_size,
                snapshot_every_n_steps=rest.get('snapshot_every_n_steps'),
            )

    class NoTokenizer(BaseTokenizer):
        @dataclass(kw_only=True, slots=True)
        class Config(BaseTokenizer.Config):
            pass

        def __init__(self, config, **rest) -> None:
            super().__init__()

        def encode(self, *args, **kwargs) -> list[int]:
            raise NotImplementedError('random tokens were never a text')

        def decode(self, *args, **kwargs) -> str:
            raise NotImplementedError('random tokens mean nothing')

        def get_vocab_size(self) -> int:
            return SAID['model']['vocabulary_size']

    return RandomTokens, NoTokenizer


if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from torchtitan.train import main

    main()
else:
    RandomTokens, NoTokenizer = _mock_classes()
