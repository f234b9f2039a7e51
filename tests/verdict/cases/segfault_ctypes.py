# A crash in native code below Python. faulthandler names the line.
# kind: signal
# ranks: 1
# signal: SIGSEGV
import ctypes
import faulthandler

import meet

faulthandler.enable()


def read_native():
    return ctypes.string_at(1)  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    read_native()
meet.sleep_for_ever()
