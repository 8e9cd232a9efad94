import copyreg
import pickle
import traceback
import types

from coxswain_reference.gathered_errors import let_errors_travel


class FrameWithCode(traceback.FrameSummary):
    """As the frames of later releases of Python are: they keep what they were made of."""

    __slots__ = ('_code',)


def frames_of_an_error() -> traceback.StackSummary:
    try:
        raise OSError('the disk is full')
    except OSError as error:
        return traceback.extract_tb(error.__traceback__)


def test_the_frames_of_an_error_travel_with_file_line_function_and_text() -> None:
    let_errors_travel()
    frames = frames_of_an_error()
    arrived = pickle.loads(pickle.dumps(frames))
    assert traceback.format_list(arrived) == traceback.format_list(frames)


def test_a_frame_travels_without_its_code() -> None:
    let_errors_travel()
    frame = FrameWithCode(__file__, 1, 'here')
    frame._code = frames_of_an_error.__code__
    make, arguments = copyreg.dispatch_table[traceback.FrameSummary](frame)
    assert not any(isinstance(part, types.CodeType) for part in arguments)
    assert make(*arguments) == traceback.FrameSummary(__file__, 1, 'here')
