# A package is not installed: all ranks fail alike.
# kind: exception
# some_of: 0,1,2
# type: ModuleNotFoundError
# hint: not installed
import meet

meet.everybody_is_there()
import no_such_package_at_all  # HERE
