"""What is really trained in this process: read off what is alive in it, since whoever made it need not have told anybody.

Called once or twice in a training. Reads sizes and names, never a value: a value on an accelerator would make the host wait for it.
"""

import gc

# Of classes that divide or copy the states of a model among ranks, most special first: a ReplicateModule is an FSDPModule that shards nothing.
WRAPPERS = (
    'ReplicateModule',
    'FSDPModule',
    'FullyShardedDataParallel',
    'TorchFullyShardedDataParallel',
    'MegatronFSDP',
    'DistributedDataParallel',
    'DeepSpeedZeRoOffload',
    'PipelineEngine',
    'DeepSpeedEngine',
)
MAX_WRAPPERS = 16
MAX_NAMED_SIZES = 32
MAX_NAME = 64


def look(torch, optimizers):
    """The fields of the fact `trained`, but for what only a process group knows. `optimizers`: those that were seen to step."""
    modules, meshes = _alive(torch)
    parameters = _trainable(modules, optimizers)
    states = [_state_of(optimizer) for optimizer in optimizers]
    return {
        'mesh': _dimensions_of(meshes),
        'wrappers': _wrappers_of(modules),
        'parameters': sum(_elements(one) for one in parameters),
        'parameterBytes': sum(_bytes(one) for one in parameters),
        'optimizerBytes': sum(held for held, _ in states),
        'optimizedParameters': sum(elements for _, elements in states),
    }


def group_facts(distributed):
    """Of a process group that is there: how many ranks, over what, and which groups have a name."""
    return {
        'worldSize': distributed.get_world_size(),
        'backend': str(distributed.get_backend())[:MAX_NAME],
        'groups': _named(_groups_of(distributed)),
    }


def _alive(torch):
    """Modules and meshes of this process. Types are compared, not objects: an object may answer for its class as it likes."""
    module_type = torch.nn.Module
    mesh_type = getattr(getattr(torch.distributed, 'device_mesh', None), 'DeviceMesh', ())
    modules, meshes, kinds = [], [], {}
    for one in gc.get_objects():
        kind = type(one)
        known = kinds.get(kind)
        if known is None:
            known = kinds[kind] = 1 if issubclass(kind, module_type) else 2 if issubclass(kind, mesh_type) else 0
        if known == 1:
            modules.append(one)
        elif known == 2:
            meshes.append(one)
    return modules, meshes


def _trainable(modules, optimizers):
    """What is optimized, where that is what modules hold; else what modules hold and may be trained: some engines optimize copies of their own."""
    held = {}
    for module in modules:
        # A module that is still being made has none yet.
        for parameter in (module.__dict__.get('_parameters') or {}).values():
            if parameter is not None and parameter.requires_grad:
                held[id(parameter)] = parameter
    optimized = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            optimized.update((id(one), one) for one in group['params'])
    both = [one for key, one in optimized.items() if key in held]
    return both or list(held.values())


def _state_of(optimizer):
    """Bytes of an optimizer's state, and of how many parameters it keeps one."""
    held = elements = 0
    for state in list(optimizer.state.values()):
        if not isinstance(state, dict):
            continue
        tensors = [one for one in state.values() if hasattr(one, 'element_size')]
        held += sum(_bytes(one) for one in tensors)
        # A step counted in a tensor of its own is no state of a parameter.
        elements += max((_elements(one) for one in tensors if one.dim() > 0), default=0)
    return held, elements


def _here(tensor):
    """The part of it that this process holds: of a DTensor, and of a parameter that DeepSpeed has taken apart."""
    for name in ('_local_tensor', 'ds_tensor'):
        part = getattr(tensor, name, None)
        if part is not None:
            return part
    return tensor


def _elements(tensor):
    return int(_here(tensor).numel())


def _bytes(tensor):
    here = _here(tensor)
    return int(here.numel()) * int(here.element_size())


def _wrappers_of(modules):
    names = set()
    for kind in {type(module) for module in modules}:
        bases = {base.__name__: base for base in reversed(kind.__mro__)}
        found = next((bases[name] for name in WRAPPERS if name in bases), None)
        if found is not None:
            names.add('{}.{}'.format(found.__module__, found.__name__)[-128:])
    return sorted(names)[:MAX_WRAPPERS]


def _dimensions_of(meshes):
    sizes = set()
    for mesh in meshes:
        names = getattr(mesh, 'mesh_dim_names', None)
        if names:
            sizes.update(zip(names, (int(size) for size in mesh.shape)))
    return _named(sizes)


def _groups_of(distributed):
    world = getattr(distributed.distributed_c10d, '_world', None)
    for group, ranks in list(getattr(world, 'pg_group_ranks', {}).items()):
        name = getattr(group, 'group_desc', '')
        if name and name not in ('undefined', 'default_pg'):
            yield name, len(ranks)


def _named(sizes):
    told = sorted({(str(name)[:MAX_NAME], size) for name, size in sizes})
    return [{'name': name, 'size': size} for name, size in told[:MAX_NAMED_SIZES]]
