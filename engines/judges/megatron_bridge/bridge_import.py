"""Megatron-Bridge and the core of Megatron-LM that it pins, on a machine without GPUs.

Both checkouts are other projects' sources: whoever runs this names them, and nothing of them is kept here. Packages
that are built for GPUs, or that only models of images and sound need, are there by name: configurations ask whether
they can be imported, and nothing else.
"""

import abc
import importlib.abc
import importlib.machinery
import os
import sys
import types
import typing
from pathlib import Path

STAND_INS = (
    'causal_conv1d',
    'fla',
    'fused_weight_gradient_mlp_cuda',
    'grouped_gemm',
    'mamba_ssm',
    'megatron.energon',
    'modelopt',
    'open_clip',
    'qwen_vl_utils',
    'timm',
    'torchvision',
    'transformer_engine',
    'transformer_engine_torch',
    'webdataset',
)


class _Anything(abc.ABCMeta):
    """A class of which every attribute is one; classes of theirs are also abstract."""

    def __getattr__(cls, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return _anything(name)

    def __getitem__(cls, _):
        return cls


def _anything(name):
    # Also a decorator that is made by a call, which leaves what it decorates.
    made = {'__init__': lambda self, *_, **__: None, '__call__': lambda self, first=None, *_: first}
    return _Anything(name, (), made)


class _Module(types.ModuleType):
    __path__: list[str] = []
    __version__ = '2.12.0'

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return _anything(name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path=None, target=None):
        if not any(f'{fullname}.'.startswith(f'{one}.') for one in STAND_INS):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def _stand_in_for_adam():
    """Validation of the precise optimizer asks for the names of its arguments."""
    from transformer_engine.pytorch import optimizers

    class FusedAdam:
        def __init__(self, params, master_weight_dtype, exp_avg_dtype, exp_avg_sq_dtype, use_decoupled_grad): ...

    optimizers.FusedAdam = FusedAdam


def _of_an_image():
    """Python 3.12, of which core_v0.18 uses one name, and a nvidia_resiliency_ext that says which it is (nvrx.py)."""
    if not hasattr(typing, 'override'):
        from typing_extensions import override

        typing.override = override
    import nvidia_resiliency_ext

    if not hasattr(nvidia_resiliency_ext, '__version__'):
        nvidia_resiliency_ext.__version__ = '0.6.0'


def import_bridge(bridge: str, megatron: str) -> types.ModuleType:
    """The module megatron.bridge.training.config of a checkout; `megatron`: that of the Megatron-LM that it pins."""
    os.environ['CUDA_VISIBLE_DEVICES'] = ''
    os.environ.setdefault('WORLD_SIZE', '1')
    sys.path[:0] = [str(Path(bridge) / 'src'), megatron]
    sys.meta_path.append(_Finder())
    _of_an_image()
    import torch

    hopper = types.SimpleNamespace(major=9, minor=0, name='H100', total_memory=80 << 30, multi_processor_count=132)
    torch.cuda.get_device_properties = lambda *_, **__: hopper
    torch.cuda.get_device_capability = lambda *_, **__: (9, 0)
    torch.cuda.get_device_name = lambda *_, **__: hopper.name
    from megatron.core import utils
    from packaging.version import Version

    utils._te_version = Version('2.12.0')
    _stand_in_for_adam()
    from megatron.bridge.training import config

    return config
