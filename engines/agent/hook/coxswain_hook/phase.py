"""What is a rank in the middle of? Read off the functions in which its first thread is, so that no engine needs to say it.

A stack is looked at once a second, by a thread of its own: whoever trains pays nothing for it.
"""

MAX_DEPTH = 256

# Names that engines and PyTorch give to functions that do nothing else, whatever file they are in.
FUNCTIONS = {
    'save_checkpoint': 'saving',
    '_save_checkpoint': 'saving',
    'save_checkpoint_and_time': 'saving',
    'save_pretrained': 'saving',
    'evaluate': 'evaluating',
    'evaluation_loop': 'evaluating',
    'evaluate_and_print_results': 'evaluating',
    'validate': 'evaluating',
    'load_checkpoint': 'starting',
    '_load_checkpoint': 'starting',
    '_load_from_checkpoint': 'starting',
}
# Ends of paths, and the functions there that count; None: all of them.
FILES = (
    ('/torch/_dynamo/convert_frame.py', None, 'compiling'),
    ('/torch/_inductor/compile_fx.py', None, 'compiling'),
    ('/torch/_inductor/async_compile.py', None, 'compiling'),
    ('/triton/compiler/compiler.py', None, 'compiling'),
    ('/torch/distributed/checkpoint/state_dict_saver.py', None, 'saving'),
    ('/torch/distributed/checkpoint/state_dict_loader.py', None, 'starting'),
    ('/torch/serialization.py', ('save', '_save'), 'saving'),
    ('/torch/serialization.py', ('load', '_load'), 'starting'),
)
_ENDS = tuple(sorted({end for end, _, _ in FILES}))
DISTRIBUTED = '/torch/distributed/distributed_c10d.py'


def phase_of(frame):
    """As the innermost function says that does; None where none does. `frame`: the innermost of a thread, or None."""
    for _ in range(MAX_DEPTH):
        if frame is None:
            return None
        code = frame.f_code
        found = FUNCTIONS.get(code.co_name) or _by_file(code)
        if found is not None:
            return found
        frame = frame.f_back
    return None


def operation_of(frame):
    """Name and arguments of the call of torch.distributed that has not come back, where it is the innermost; else None and none."""
    if frame is None or not frame.f_code.co_filename.endswith(DISTRIBUTED):
        return None, {}
    return frame.f_code.co_name.lstrip('_'), dict(frame.f_locals)


def _by_file(code):
    if not code.co_filename.endswith(_ENDS):
        return None
    for end, functions, phase in FILES:
        if code.co_filename.endswith(end) and (functions is None or code.co_name in functions):
            return phase
    return None
