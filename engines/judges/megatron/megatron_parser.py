"""Megatron-LM's own parser and validation, on a machine without GPUs.

The checkout is another project's source: whoever runs this names it (first argument), and nothing of it is kept here. What a GPU would answer is
answered as an H100 does, because validation asks for its architecture and nothing else.
"""

import argparse
import os
import sys
import typing


class _OptionsRead(Exception):
    """Carries Megatron's parser out of parse_args, with everything that was added to it."""

    def __init__(self, parser):
        super().__init__('the parser is complete')
        self.parser = parser


def import_megatron(checkout):
    """The module megatron.training.arguments of a checkout."""
    os.environ.setdefault('RANK', '0')
    os.environ.setdefault('WORLD_SIZE', '1')
    os.environ['CUDA_VISIBLE_DEVICES'] = ''
    sys.path.insert(0, checkout)
    if not hasattr(typing, 'override'):  # core_v0.18 asks for Python 3.12 and uses nothing else of it when it reads options
        from typing_extensions import override

        typing.override = override
    # What is installed here says nothing of an image: a version that Megatron-LM finds too old ends its import (nvrx.py).
    sys.modules['nvidia_resiliency_ext'] = None
    import torch

    hopper = argparse.Namespace(major=9, minor=0, name='H100', total_memory=80 << 30, multi_processor_count=132)
    torch.cuda.get_device_properties = lambda *_, **__: hopper
    torch.cuda.get_device_capability = lambda *_, **__: (9, 0)
    torch.cuda.get_device_name = lambda *_, **__: hopper.name
    from megatron.training import arguments

    return arguments


def parser_of(arguments):
    """The parser as parse_args has it just before it reads the command line: some releases put it together inside that function."""
    original = argparse.ArgumentParser.parse_args

    def stop(parser, *_, **__):
        raise _OptionsRead(parser)

    argparse.ArgumentParser.parse_args = stop
    try:
        arguments.parse_args()
    except _OptionsRead as read:
        return read.parser
    finally:
        argparse.ArgumentParser.parse_args = original
    raise RuntimeError('parse_args of this checkout reads no command line')
